import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { type Status, TidingsConnectionError, TidingsError } from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { ExitCode } from '../exit-code.js';
import { failureOf } from '../failure.js';
import { ago, duration } from '../output/duration.js';
import type { Output } from '../output/output.js';
import { printable } from '../output/printable.js';
import { wholeNumber } from '../settings/option-values.js';

interface Options {
  watch?: boolean;
  interval: number;
}

/** Adds `status`. */
export function addStatus(program: Command, terminal: Terminal): void {
  program
    .command('status')
    .description('show whether messages flow, and where they wait')
    .option('-w, --watch', 'show the status repeatedly until Ctrl-C')
    .option('--interval <seconds>', 'time between two updates with --watch', wholeNumber(1, 3_600), 2)
    .action(action(terminal, showStatus));
}

async function showStatus(
  context: CommandContext,
  { watch, interval }: Options,
): Promise<ExitCode | undefined> {
  const { output, readingSignal: signal } = context;
  for (let shown = 0; ; shown += 1) {
    try {
      const status = await context.read<Status>('/v1/status', 'readiness');
      if (watch === true) output.clear();
      output.result(status, () => statusLines(status, output).join('\n'));
      if (watch !== true) return status.readiness.status === 'ok' ? ExitCode.success : ExitCode.failure;
    } catch (error) {
      // The gateway may be restarting. So after the first result, a temporary error does not end the command.
      if (shown === 0 || signal.aborted || !isTemporary(error)) throw error;
      const { lines, details } = failureOf(error);
      if (output.isJson) output.noteJson(details);
      else output.note(lines.join(' '));
    }
    // Ctrl-C is the usual end.
    await sleep(interval * 1_000, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return undefined;
  }
}

function isTemporary(error: unknown): boolean {
  if (error instanceof TidingsConnectionError) return true;
  return error instanceof TidingsError && (error.status === 429 || error.status >= 500);
}

/** Describes the state of an account in about ten lines. */
function statusLines(status: Status, output: Output): string[] {
  const { readiness, upstream, sends, poller, deliveries } = status;
  const isOk = readiness.status === 'ok';
  const { detectionDelay: delay, budget } = poller;
  const counts = Object.entries(sends.counts).filter(([, count]) => count > 0);
  const lines: [string, string][] = [
    ['Account', status.account],
    ['State', output.styled(isOk ? 'good' : 'bad', readiness.status)],
    ...readiness.reasons.map(
      (reason) => ['', output.styled('warning', printable(reason))] as [string, string],
    ),
    [
      'Upstream',
      upstream.state === 'up'
        ? 'up'
        : output.styled('bad', printable(`down since ${ago(upstream.since)}: ${upstream.reason ?? ''}`)),
    ],
    ['Sends', counts.map(([name, count]) => `${count} ${name}`).join(', ') || 'none'],
    ['', `oldest waiting ${duration(sends.oldestQueuedMs)}, recipients waiting ${sends.lanes.count}`],
    ['Polling', `${poller.contacts} contacts, ${poller.due} due, ${duration(poller.lagMs)} behind`],
    [
      '',
      delay.p50Ms === null
        ? 'no detection delay measured yet'
        : `detection delay p50 ${duration(delay.p50Ms)}, p95 ${duration(delay.p95Ms ?? delay.p50Ms)}`,
    ],
    ['', `budget ${round(budget.usedPerSecond)} of ${round(budget.allowedPerSecond)} requests/s used`],
    [
      'Deliveries',
      `${deliveries.counts.pending} pending, oldest due ${duration(deliveries.oldestDueMs)} late`,
    ],
    [
      'Webhooks',
      `${deliveries.endpoints.count}, ${deliveries.endpoints.disabled} disabled, ${deliveries.failing.length} failing`,
    ],
    ...deliveries.failing.map(
      ({ webhookId, since }) =>
        ['', output.styled('warning', printable(`${webhookId} failing since ${ago(since)}`))] as [
          string,
          string,
        ],
    ),
  ];
  return lines.map(([title, text]) => `${output.styled('quiet', title.padEnd(12))}${text}`);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
