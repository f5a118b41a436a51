import type { BullmqHintQueue, Logger, QueuePayloads } from '#platform';
import type { RelayJobs } from '../ports.js';

/**
 * Maximum number of lanes that one job wakes. One worker processes all lanes of a job, so a larger job would leave
 * other workers idle.
 */
const MAX_LANES_PER_JOB = 16;

/**
 * Implements {@link RelayJobs} with BullMQ jobs that wake lanes (recipients' queues of sends). Lanes that are woken
 * without delay share jobs: one job for each send would add half as much load on Redis as storing the send. A lane
 * that is woken with a delay gets its own job, so that BullMQ recognizes and ignores further jobs for the same lane
 * and about the same time.
 */
export class BullmqRelayJobs implements RelayJobs {
  constructor(
    private readonly hints: BullmqHintQueue<QueuePayloads['relay']>,
    private readonly logger: Logger,
  ) {}

  async wake(account: string, lanes: readonly string[], delayMs = 0): Promise<void> {
    try {
      const groups = inGroups(lanes, delayMs > 0 ? 1 : MAX_LANES_PER_JOB);
      const hints = groups.map(([lane, ...more]) => ({
        subject: `${account}\n${lane}`,
        payload: { account, lane, ...(more.length === 0 ? {} : { more }) },
      }));
      await this.hints.add(hints, delayMs);
    } catch (error) {
      // No send is lost: Redis records which lanes are due, and the next reconcile task wakes them.
      this.logger.warn(
        { account, err: error },
        'could not queue wake-up jobs for recipients with due sends; a periodic task adds the jobs later',
      );
    }
  }
}

function inGroups(lanes: readonly string[], size: number): [string, ...string[]][] {
  const groups: [string, ...string[]][] = [];
  for (let from = 0; from < lanes.length; from += size) {
    const [first, ...others] = lanes.slice(from, from + size);
    if (first !== undefined) groups.push([first, ...others]);
  }
  return groups;
}
