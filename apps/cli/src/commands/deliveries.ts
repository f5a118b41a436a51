import { setTimeout as sleep } from 'node:timers/promises';
import { progress } from '@clack/prompts';
import { type Command, Option } from 'commander';
import type { Delivery, NewReplay, StartedReplay, Webhook } from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { ExitCode } from '../exit-code.js';
import { failureOf } from '../failure.js';
import { ago, timeOf } from '../output/duration.js';
import { collect, DEFAULT_LIMIT, MAX_LIMIT, wholeNumber } from '../settings/option-values.js';
import { addDefaultList } from './default-list.js';
import { followReplay } from './replay-progress.js';
import { addShow } from './show-and-delete.js';

/** All statuses. The compiler reports one that is missing. */
const STATUSES = Object.keys({
  pending: true,
  succeeded: true,
  failed: true,
  missed: true,
} satisfies Record<Delivery['status'], true>);
/** Time between two reads of the progress of a replay, in milliseconds. */
const PROGRESS_INTERVAL_MS = 500;
const CONTINUES = 'The replay continues without this command.';

interface ListOptions {
  status?: Delivery['status'];
  failed?: boolean;
  since?: string;
  webhook?: string;
  event?: string;
  limit: number;
}

interface ReplayOptions {
  since: string;
  until?: string;
  types?: string[];
  only?: Exclude<NewReplay['only'], undefined>;
  dryRun?: boolean;
  wait: boolean;
}

/** Adds `deliveries`, `retry` and `replay`. */
export function addDeliveries(program: Command, terminal: Terminal): void {
  const deliveries = program
    .command('deliveries')
    .description('list the deliveries of all webhooks, or show one');
  addDefaultList(deliveries, 'list deliveries, newest first')
    .addOption(new Option('--status <status>', 'only deliveries with this status').choices(STATUSES))
    .addOption(new Option('--failed', 'short for --status failed').conflicts('status'))
    .option(
      '--since <time>',
      'only deliveries that finished since this time, and pending ones created since then: ISO 8601, or an age such as 1h',
    )
    .option('--webhook <id>', 'only deliveries of this webhook')
    .option('--event <id>', 'only deliveries of this event')
    .option('--limit <count>', 'maximum number of deliveries', wholeNumber(1, MAX_LIMIT), DEFAULT_LIMIT)
    .action(action(terminal, listDeliveries));
  addShow(deliveries, terminal, '/v1/deliveries', 'show a delivery with every attempt');

  program
    .command('retry')
    .argument('<deliveryIds...>')
    .description('attempt finished deliveries again, and pending deliveries at once')
    .action(action(terminal, retry));

  program
    .command('replay')
    .argument('<webhookId>')
    .description('deliver events to a webhook again')
    .requiredOption('--since <time>', 'events from this time on: ISO 8601, or an age such as 1h')
    .option('--until <time>', 'events before this time: ISO 8601, or an age such as 1h')
    .option('--types <types>', 'only these event types', collect)
    .addOption(
      new Option(
        '--only <which>',
        'which events to deliver, by the state of their delivery (default: failed)',
      ).choices(['failed', 'missed', 'pending', 'all']),
    )
    .option('--dry-run', 'only count the events that would be delivered')
    .option('--no-wait', 'do not wait until all deliveries have ended')
    .action(action(terminal, replay));
}

async function listDeliveries(context: CommandContext, options: ListOptions): Promise<undefined> {
  const { status, failed, since, webhook, event, limit } = options;
  const wanted = failed === true ? 'failed' : status;
  const tidings = await context.client();
  await context.output.list(
    tidings.deliveries({
      ...(wanted === undefined ? {} : { status: wanted }),
      ...(since === undefined ? {} : { since: timeOf(since, '--since') }),
      ...(webhook === undefined ? {} : { webhookId: webhook }),
      ...(event === undefined ? {} : { eventId: event }),
      signal: context.readingSignal,
    }),
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'STATUS', value: (delivery) => delivery.status },
      { title: 'EVENT', value: ({ eventType }) => eventType },
      { title: 'WEBHOOK', value: ({ webhookId }) => webhookId },
      { title: 'ATTEMPTS', value: ({ attempts }) => attempts.length },
      { title: 'CREATED', value: ({ createdAt }) => ago(createdAt) },
      { title: 'LAST REPLY', value: lastReply },
    ],
    limit,
  );
}

function lastReply({ attempts, reason, blockedBy }: Delivery): string | undefined {
  if (blockedBy !== null) return `waits for ${blockedBy}`;
  const last = attempts.at(-1);
  if (last === undefined) return reason ?? undefined;
  return last.statusCode === null ? (last.error ?? undefined) : String(last.statusCode);
}

async function retry(context: CommandContext, ids: string[]): Promise<ExitCode> {
  let code: ExitCode = ExitCode.success;
  for (const id of ids) {
    try {
      const delivery = await context.call('POST', `/v1/deliveries/${encodeURIComponent(id)}/retry`);
      context.output.result(delivery as Delivery, `${id} is attempted now.`);
    } catch (error) {
      // After Ctrl-C, the other deliveries are not attempted either.
      if (ids.length === 1 || context.signal.aborted) throw error;
      const { lines, details, exitCode } = failureOf(error);
      if (context.output.isJson) context.output.noteJson({ deliveryId: id, ...details });
      else context.output.note(`${id}: ${lines.join(' ')}`);
      code = exitCode;
    }
  }
  return code;
}

async function replay(
  context: CommandContext,
  webhookId: string,
  options: ReplayOptions,
): Promise<undefined> {
  const { since, until, types, only, dryRun, wait } = options;
  const path = `/v1/webhooks/${encodeURIComponent(webhookId)}`;
  const body: NewReplay = {
    since: timeOf(since, '--since').toISOString(),
    ...(until === undefined ? {} : { until: timeOf(until, '--until').toISOString() }),
    ...(types === undefined ? {} : { eventTypes: types }),
    ...(only === undefined ? {} : { only }),
    ...(dryRun === undefined ? {} : { dryRun }),
  };
  const started = (await context.call('POST', `${path}/replay`, body)) as StartedReplay;
  if (dryRun === true) {
    context.output.result(started, `${started.count} events would be delivered.`);
    return;
  }
  if (wait && started.count > 0 && context.output.isInteractive)
    await showProgress(context, path, started.count);
  context.output.result(started, `${started.count} deliveries were started.`);
}

/**
 * Shows how many of the deliveries have ended. Returns when all have ended, when none has ended for two minutes, or
 * when the user presses Ctrl-C.
 */
async function showProgress(context: CommandContext, path: string, count: number): Promise<void> {
  const { signal } = context;
  const bar = progress({ max: count, indicator: 'timer' });
  let shown = 0;
  bar.start(`Delivering ${count} events`);
  try {
    const outcome = await followReplay(
      count,
      async () => {
        await sleep(PROGRESS_INTERVAL_MS, undefined, { signal });
        return (await context.call('GET', path)) as Webhook;
      },
      (done, { failingSince }) => {
        const text = `${done} of ${count}${failingSince === null ? '' : ', the webhook is failing'}`;
        bar.advance(done - shown, text);
        shown = done;
      },
    );
    bar.stop(
      outcome === 'ended'
        ? `Attempted ${count} events.`
        : `No delivery has ended for two minutes. ${CONTINUES} See: tidings deliveries --status pending`,
    );
  } catch (error) {
    bar.stop(CONTINUES);
    if (!signal.aborted) throw error;
  }
}
