import type { Stats } from '#client';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { to, withParameters } from '../kit/address.js';
import { Plot, type PlotLine } from '../kit/plot.js';
import { durationText, numberText } from '../kit/text.js';

interface Graph {
  title: string;
  /** The list behind the plot; absent if the API key may not see it. */
  href: string | undefined;
  lines: readonly PlotLine[];
  unit: (value: number) => string;
  /** The last hour in words, which screen readers read instead of the plot. */
  summary: string;
}

/** The last hour by minute. */
export function StatsPlots({ stats }: { stats: Stats }): JSX.Element {
  const api = useApi();
  const graphs = useMemo(
    () =>
      graphsOf(stats, {
        sends: api.may('messages:read') ? to('sends') : undefined,
        events: api.may('events:read') ? to('events') : undefined,
        webhooks: api.may('webhooks:manage') ? to('webhooks') : undefined,
      }),
    [stats, api],
  );
  const times = useMemo(() => full(stats.minutes), [stats]);
  return (
    <section aria-labelledby="last-hour" class="stack">
      <header class="graphs-head">
        <h2 id="last-hour">The last hour</h2>
        <p class="quiet">by minute, up to the last full minute</p>
      </header>
      <div class="graphs">
        {graphs.map(({ title, href, lines, unit, summary }) => (
          <figure key={title} class="section">
            <figcaption>
              <h3>{href === undefined ? title : <a href={href}>{title}</a>}</h3>
              <p class="quiet">{summary}</p>
            </figcaption>
            <Plot label={`${title}: ${summary}`} times={times} lines={lines} unit={unit} />
            <p class="legend">
              {lines.map(({ label, colour }) => (
                <span key={label} class={`legend-${colour}`}>
                  {label}
                </span>
              ))}
            </p>
          </figure>
        ))}
      </div>
    </section>
  );
}

type Links = Readonly<Record<'sends' | 'events' | 'webhooks', string | undefined>>;

function graphsOf(stats: Stats, links: Links): Graph[] {
  const { sends, events, deliveries, detectionDelayMs, deliveryDelayMs, requests, backlog } = stats;
  const received =
    links.events === undefined ? undefined : withParameters(links.events, { types: 'message.received' });
  return [
    {
      title: 'Detection delay',
      href: received,
      unit: durationText,
      lines: [line('mean', detectionDelayMs.mean, 1), line('max', detectionDelayMs.max, 4)],
      summary: worst(detectionDelayMs.max, 'from a message to its event'),
    },
    {
      title: 'Delivery delay',
      href: links.webhooks,
      unit: durationText,
      lines: [line('mean', deliveryDelayMs.mean, 1), line('max', deliveryDelayMs.max, 4)],
      summary: worst(deliveryDelayMs.max, 'from an event to its delivery'),
    },
    {
      title: 'Sends per minute',
      href: links.sends,
      unit: numberText,
      lines: [
        line('created', sends.created, 1),
        line('sent', sends.sent, 3),
        line('failed', sends.failed, 2),
      ],
      summary: `${numberText(sum(sends.created))} created, ${numberText(sum(sends.sent))} sent, ${numberText(sum(sends.failed))} failed`,
    },
    {
      title: 'Events per minute',
      href: links.events,
      unit: numberText,
      lines: [line('all', events.total, 1), line('received', events.received, 3)],
      summary: `${numberText(sum(events.total))} events, ${numberText(sum(events.received))} of them received messages`,
    },
    {
      title: 'Deliveries per minute',
      href: links.webhooks,
      unit: numberText,
      lines: [
        line('succeeded', deliveries.succeeded, 3),
        line('failed attempts', deliveries.failedAttempts, 2),
      ],
      summary: `${numberText(sum(deliveries.succeeded))} succeeded, ${numberText(sum(deliveries.failedAttempts))} attempts failed`,
    },
    {
      title: 'Requests per minute',
      href: undefined,
      unit: numberText,
      lines: [
        line('used', requests.used, 1),
        line('failed', requests.failed, 2),
        {
          ...line(
            'budget',
            stats.minutes.map(() => requests.budgetPerMinute),
            4,
          ),
          isLimit: true,
        },
      ],
      summary: `${numberText(sum(requests.used))} requests, ${numberText(sum(requests.failed))} failed, ${numberText(sum(requests.throttled))} throttled`,
    },
    {
      title: 'Backlogs',
      href: links.sends === undefined ? links.webhooks : withParameters(links.sends, { status: 'queued' }),
      unit: numberText,
      lines: [line('sends', backlog.sends, 1), line('deliveries', backlog.deliveries, 3)],
      summary: `now ${numberText(last(backlog.sends))} sends and ${numberText(last(backlog.deliveries))} deliveries`,
    },
  ];
}

function line(label: string, values: readonly (number | null)[], colour: PlotLine['colour']): PlotLine {
  return { label, values: full(values), colour };
}

/** Leaves out the current minute. It has only begun, so its counts are low, and each line would seem to drop. */
function full<T>(values: readonly T[]): readonly T[] {
  return values.slice(0, -1);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function last(values: readonly (number | null)[]): number {
  return values.findLast((value) => value !== null) ?? 0;
}

function worst(values: readonly (number | null)[], what: string): string {
  const measured = values.filter((value) => value !== null);
  return measured.length === 0
    ? `no time was measured ${what}`
    : `at most ${durationText(Math.max(...measured))} ${what}`;
}
