import type { AgendaTime, WorkerEnvironment } from '#platform';
import type { UpstreamProbe } from '#relay';
import type { Round } from './round-schedule.js';

/** Delay after the end of an outage until the waiting work is checked again, in milliseconds. */
const AFTER_RECOVERY_MS = 500;

/**
 * Time added to the request timeout before a probe counts as lost, in milliseconds. Covers the wait for the
 * request budget.
 */
const LEASE_MARGIN_MS = 5_000;

/** Returns the lease of an upstream probe, in milliseconds. */
export function probeLeaseMs({ UPSTREAM_TIMEOUT_MS }: WorkerEnvironment): number {
  return UPSTREAM_TIMEOUT_MS + LEASE_MARGIN_MS;
}

/** Reads when the upstream of an account is probed next. */
export interface ProbeTimes {
  /** Returns the time until the next probe in milliseconds, or undefined if the account has no outage. */
  nextTurnInMs(account: string): Promise<number | undefined>;
}

/**
 * Returns a round that probes an unavailable upstream.
 * @param recovered called when the outage of an account has ended
 */
export function probeRound(
  probe: Pick<UpstreamProbe, 'run'>,
  times: ProbeTimes,
  onRecovered: (account: string) => void = () => undefined,
): Round {
  return {
    run: async (account): Promise<AgendaTime | undefined> => {
      if ((await probe.run(account)) === 'recovered') {
        onRecovered(account);
        return AFTER_RECOVERY_MS;
      }
      return times.nextTurnInMs(account);
    },
  };
}
