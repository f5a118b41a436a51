import { createHash } from 'node:crypto';
import type { Queue } from 'bullmq';
import type { Clock } from '../time/clock.js';

/**
 * Length of an interval in milliseconds. Delayed hints about the same subject in one interval become one job at its
 * end.
 */
const INTERVAL_MS = 250;

/** A wake-up call for a worker: there may be work for the subject of the hint. */
export interface Hint<Payload> {
  /** Subject of the hint, such as an account and a lane; any text. */
  subject: string;
  payload: Payload;
}

/**
 * Stores hints as BullMQ jobs. An immediate hint is always a new job: if it were merged with an earlier job, it would
 * be lost with that job, whose process may have died. An additional run does no harm.
 */
export class BullmqHintQueue<Payload> {
  /** @param queue returns the current queue, at every use. The creator of the queue must listen to its errors. */
  constructor(
    private readonly queue: () => Queue<Payload>,
    private readonly clock: Clock,
  ) {}

  /** Creates a hint queue on a queue that the caller owns. */
  static onQueue<Payload>(queue: Queue<Payload>, clock: Clock): BullmqHintQueue<Payload> {
    // The connection's own listener reports the error. Without a listener here, BullMQ would print the error, too.
    queue.on('error', () => undefined);
    return new BullmqHintQueue(() => queue, clock);
  }

  /** Adds hints that run after `delayMs` milliseconds. */
  async add(hints: readonly Hint<Payload>[], delayMs = 0): Promise<void> {
    await this.addAs(hints, ({ subject }) => this.timing(subject, delayMs));
  }

  /**
   * Adds hints that recur until their work is done. A hint is left out if one about the same subject was added in the
   * same second and still waits. The queue therefore does not grow if hints are added faster than they run.
   */
  async addRecurring(hints: readonly Hint<Payload>[]): Promise<void> {
    const second = Math.floor(this.clock.now() / 1_000);
    await this.addAs(hints, ({ subject }) => ({ jobId: `${digest(subject)}-s${second}` }));
  }

  private async addAs(
    hints: readonly Hint<Payload>[],
    options: (hint: Hint<Payload>) => object,
  ): Promise<void> {
    if (hints.length === 0) return;
    const jobs = hints.map((hint) => ({
      name: 'hint',
      data: hint.payload,
      opts: { ...options(hint), removeOnComplete: true, removeOnFail: true },
    }));
    // BullMQ infers the type of the payload from the type of the queue.
    await this.queue().addBulk(jobs as Parameters<Queue<Payload>['addBulk']>[0]);
  }

  private timing(about: string, delayMs: number): object {
    if (delayMs <= 0) return {};
    const now = this.clock.now();
    const interval = Math.ceil((now + delayMs) / INTERVAL_MS);
    return { jobId: `${digest(about)}-${interval}`, delay: interval * INTERVAL_MS - now };
  }
}

/** Hashes the subject: a job id must contain no colon and no phone number. */
function digest(about: string): string {
  return createHash('sha256').update(about).digest('hex').slice(0, 32);
}
