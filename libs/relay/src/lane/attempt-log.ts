import { type Logger, traceIdLogField } from '#platform';
import { MAX_STORED_ATTEMPTS_PER_SEND } from '../send/send-record.js';
import type { AttemptOutcome } from '../send/send.js';
import type { AttemptResult } from './attempt-outcome.js';
import type { FencedSend } from './fenced-send.js';

/** For each outcome of an attempt: what the relay does next, as logged with the attempt. */
const DECISIONS: Readonly<Record<AttemptOutcome, string>> = {
  accepted: 'wait for the message',
  refused: 'fail',
  not_taken: 'retry',
  ambiguous: 'look up',
};

/**
 * Logs one line for an attempt. The line contains neither the text of the send nor text from upstream's reply.
 * @param isHeld true if the send now waits for the end of an outage
 */
export function logAttempt(
  logger: Logger,
  account: string,
  { record: { order, state }, fencedAt }: FencedSend,
  { outcome, httpStatus, fault, retryAfterMs }: AttemptResult,
  isHeld: boolean,
): void {
  logger.info(
    {
      account,
      ...(order.requestId === undefined ? {} : { requestId: order.requestId }),
      ...traceIdLogField(order.trace),
      sendId: order.id,
      // Only the newest attempts are stored with a send. If their maximum number is reached, the number of this
      // attempt is unknown.
      ...(state.attempts.length < MAX_STORED_ATTEMPTS_PER_SEND ? { attempt: state.attempts.length + 1 } : {}),
      outcome,
      ...(httpStatus === undefined ? {} : { status: httpStatus }),
      ...(fault === undefined ? {} : { error: fault }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      durationMs: Math.round(performance.now() - fencedAt),
      decision: isHeld ? 'hold' : DECISIONS[outcome],
    },
    'send.attempted',
  );
}
