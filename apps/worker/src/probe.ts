import type { AgendaTime, WorkerEnvironment } from '#platform';
import type { UpstreamProbe } from '#relay';
import type { Round } from './rounds.js';

/** How soon after the end of an outage it is looked again whether something waits for it. */
const RECOVERING_TICK_MS = 500;

/** So much longer than its request a probe may take, its wait in the budget included, before it counts as lost. */
const LEASE_MARGIN_MS = 5_000;

export function probeLeaseMs({ UPSTREAM_TIMEOUT_MS }: WorkerEnvironment): number {
  return UPSTREAM_TIMEOUT_MS + LEASE_MARGIN_MS;
}

/** Knows when an account's upstream is to be probed next. */
export interface ProbeTimes {
  /** In how many milliseconds; undefined while there is no outage. */
  nextTurnInMs(account: string): Promise<number | undefined>;
}

/** Probes an account whose upstream is away, and nothing else. @param recovered is told of the end of an outage */
export function probeRound(
  probe: Pick<UpstreamProbe, 'run'>,
  times: ProbeTimes,
  recovered: (account: string) => void = () => undefined,
): Round {
  return {
    run: async (account): Promise<AgendaTime | undefined> => {
      if ((await probe.run(account)) === 'recovered') {
        recovered(account);
        return RECOVERING_TICK_MS;
      }
      return times.nextTurnInMs(account);
    },
  };
}
