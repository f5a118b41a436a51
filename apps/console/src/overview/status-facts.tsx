import type { Status } from '#client';
import type { ComponentChildren, JSX } from 'preact';
import { useApi } from '../api/api.js';
import { to, withParameters } from '../kit/address.js';
import { countText, durationText, numberText } from '../kit/text.js';

/** The present state in numbers, each with a link to what it counts. */
export function StatusFacts({ status }: { status: Status }): JSX.Element {
  const api = useApi();
  const { sends, deliveries, poller, conversations } = status;
  const { counts } = sends;
  const waiting = (counts.queued ?? 0) + (counts.relaying ?? 0);
  const { p50Ms, p95Ms } = poller.detectionDelay;
  return (
    <ul class="tiles">
      <Tile
        title="Sends waiting"
        href={withParameters(to('sends'), { status: 'queued' })}
        note={
          waiting === 0 ? 'the queue is empty' : `the oldest has waited ${durationText(sends.oldestQueuedMs)}`
        }
      >
        {numberText(waiting)}
      </Tile>
      <Tile
        title="Sends to check"
        href={withParameters(to('sends'), { status: (counts.unknown ?? 0) > 0 ? 'unknown' : 'failed' })}
        note={`${numberText(counts.failed ?? 0)} failed, ${numberText(counts.unknown ?? 0)} unknown`}
      >
        {numberText((counts.failed ?? 0) + (counts.unknown ?? 0))}
      </Tile>
      <Tile
        title="Deliveries pending"
        href={api.may('webhooks:manage') ? to('webhooks') : undefined}
        note={
          deliveries.failing.length === 0
            ? 'no webhook is failing'
            : `${countText(deliveries.failing.length, 'webhook', 'webhooks')} failing`
        }
      >
        {numberText(deliveries.counts.pending)}
      </Tile>
      <Tile
        title="Detection delay"
        href={withParameters(to('events'), { types: 'message.received' })}
        note={p95Ms === null ? 'no message in the last hour' : `median; p95 ${durationText(p95Ms)}`}
      >
        {p50Ms === null ? '–' : durationText(p50Ms)}
      </Tile>
      <Tile title="Requests per second" note={`of at most ${numberText(poller.budget.allowedPerSecond)}`}>
        {poller.budget.usedPerSecond.toLocaleString(undefined, { maximumFractionDigits: 1 })}
      </Tile>
      <Tile
        title="Contacts"
        href={to('conversations')}
        note={countText(conversations.rows, 'conversation', 'conversations')}
      >
        {numberText(poller.contacts)}
      </Tile>
    </ul>
  );
}

function Tile(props: {
  title: string;
  note: string;
  href?: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  const { title, note, href, children } = props;
  return (
    <li class="tile">
      <span class="tile-title">{href === undefined ? title : <a href={href}>{title}</a>}</span>
      <strong>{children}</strong>
      <span class="quiet">{note}</span>
    </li>
  );
}
