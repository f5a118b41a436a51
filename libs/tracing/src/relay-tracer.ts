import { observeMethodCalls } from '#platform';
import type { RelayStore, SendRecord, SendState, StateChange } from '#relay';
import { type Attributes, isSampled, type SpanStart, type Tracing } from './tracing.js';

/**
 * Traces the stages of sends: the wait in the queue, the POST, the look-ups (searches for the send among the
 * recipient's messages), and the wait for the message. When a stage ends, its span is created, even if the stage
 * began in another process.
 */
export class RelayTracer {
  constructor(private readonly tracing: Tracing) {}

  /** Returns a store that works like the given one and traces the transitions of sends. */
  observeStore<T extends RelayStore>(store: T): T {
    return observeMethodCalls<RelayStore>(store, {
      apply: ({ parameters: [account, before, { transition }], outcome }) => {
        if (!('result' in outcome) || outcome.result === undefined) return;
        this.trace(account, before, transition, outcome.result);
      },
      fence: ({ parameters: [account, before], outcome }) => {
        if ('result' in outcome && outcome.result.kind === 'fenced')
          this.trace(account, before, 'fenced', outcome.result.record);
      },
    }) as T;
  }

  /**
   * If the send is traced, creates the span of the stage (for example, the POST) that ends with the given transition.
   */
  private trace(
    account: string,
    { order, state: before }: SendRecord,
    transition: StateChange['transition'],
    { state: after }: SendRecord,
  ): void {
    const { trace: parent, id } = order;
    const stage = stageOf(before, transition);
    if (parent === undefined || stage === undefined || !isSampled(parent)) return;
    const attributes = (): Attributes => ({
      'tidings.account': account,
      'tidings.send_id': id,
      'tidings.transition': transition,
      'tidings.attempt': after.attempts.length,
    });
    const startedMsAgo = Math.max(after.updatedAt - (stage.begunAt ?? before.updatedAt), 0);
    const { kind = 'internal' } = stage;
    const span = this.tracing.start(stage.name, { kind, parent, attributes, startedMsAgo });
    span.end(() => (FAILURES.has(transition) ? { error: transition } : {}));
  }
}

/** The transitions that mark the span of a stage as failed. */
const FAILURES: ReadonlySet<string> = new Set(['refused', 'not_taken', 'ambiguous', 'marked_unknown']);

/** A stage of a send, with the name and kind of its span. */
interface Stage extends Pick<SpanStart, 'kind'> {
  name: string;
  /** Start of the span, by Redis' clock. If absent, the span starts at the send's previous transition. */
  begunAt?: number | undefined;
}

/**
 * Returns which stage of a send ends with a transition: the wait in the queue, the POST, the look-ups, or the wait for
 * the message. Returns undefined if the transition ends no traced stage.
 */
function stageOf(
  { status, phase, begunAt }: SendState,
  transition: StateChange['transition'],
): Stage | undefined {
  if (transition === 'attempt_recorded' || transition === 'lookup_begun') return undefined;
  if (phase === 'posting') return { name: 'send post', kind: 'client' };
  if (phase === 'looking') return { name: 'send look-up' };
  if (status === 'queued') return { name: 'send queued' };
  return status === 'accepted' && transition === 'found' ? { name: 'send sighted', begunAt } : undefined;
}
