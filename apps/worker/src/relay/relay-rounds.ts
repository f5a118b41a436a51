import {
  type UnusedFileRemover,
  LOST_JOB_CHECK_DELAY_MS,
  RELAY_TASK_NAMES,
  type RedisRelayDueTimeReader,
  type RelaySchedulers,
  type PeriodicRelayTasks,
  type UpstreamProbe,
} from '#relay';
import { type ProbeTimes, probeRound } from '../probe.js';
import type { RoleRounds } from '../round-schedule.js';
import type { SendRetention } from '../settings.js';

/** Maximum time between two reads of the agenda while wake-ups do not arrive, in milliseconds. */
const TICK_MS = 500;
/** Minimum time between two retention rounds of one account, in milliseconds. */
const TRIM_MS = 30_000;
/** Time between two file sweeps of an account with sends, in milliseconds. */
const SWEEP_MS = 600_000;
/** Time between two file sweeps of an account without sends, in milliseconds. */
const SWEEP_EMPTY_MS = 6 * 3_600_000;

/** Dependencies of the rounds of the role `relay`. */
export interface RelayRoundParts {
  rounds: Pick<PeriodicRelayTasks, 'reconcile' | 'confirm' | 'expire' | 'trim'>;
  survey: Pick<RedisRelayDueTimeReader, 'read'>;
  probe: Pick<UpstreamProbe, 'run'>;
  probeTimes: ProbeTimes;
  files: Pick<UnusedFileRemover, 'removeUnused'>;
  schedulers: Pick<RelaySchedulers, 'schedule'>;
  retention: SendRetention;
  isFull(): Promise<boolean>;
}

/**
 * Returns the rounds of the role `relay`: they restore lost hints, confirm and expire sends, and apply
 * retention. An account without sends has no due round, except the file sweep.
 */
export function relayRounds(parts: RelayRoundParts): RoleRounds {
  const { rounds, survey, files, schedulers } = parts;
  return {
    tickMs: TICK_MS,
    rounds: {
      [RELAY_TASK_NAMES.reconcile]: {
        run: async (account) => {
          // With a large backlog, workers drop wake-up jobs. The remaining lanes must therefore be checked again
          // soon.
          const isAll = await rounds.reconcile(account);
          return atLeast(isAll ? LOST_JOB_CHECK_DELAY_MS : TICK_MS, (await survey.read(account)).lanesInMs);
        },
      },
      [RELAY_TASK_NAMES.confirm]: {
        run: async (account) => {
          await rounds.confirm(account);
          return atLeast(TICK_MS, (await survey.read(account)).confirmsInMs);
        },
      },
      [RELAY_TASK_NAMES.expire]: {
        run: async (account) => {
          await rounds.expire(account);
          return atLeast(TICK_MS, (await survey.read(account)).expiryInMs);
        },
      },
      [RELAY_TASK_NAMES.probe]: probeRound(parts.probe, parts.probeTimes),
      [RELAY_TASK_NAMES.trim]: {
        run: async (account) => {
          await rounds.trim(account, parts.retention);
          return atLeast(TRIM_MS, (await survey.read(account)).trimInMs);
        },
      },
      [RELAY_TASK_NAMES.sweepFiles]: {
        run: async (account) => {
          await files.removeUnused(account);
          return { everyMs: (await survey.read(account)).hasSends ? SWEEP_MS : SWEEP_EMPTY_MS };
        },
      },
    },
    relief: {
      isNeeded: () => parts.isFull(),
      run: (account) => rounds.trim(account, parts.retention),
    },
    survey: async (account) => {
      const found = await survey.read(account);
      if (found.scheduledInMs !== undefined)
        schedulers.schedule.announce(account, RELAY_TASK_NAMES.promote, found.scheduledInMs);
      return {
        [RELAY_TASK_NAMES.reconcile]: found.lanesInMs,
        [RELAY_TASK_NAMES.confirm]: found.confirmsInMs,
        [RELAY_TASK_NAMES.expire]: found.expiryInMs,
        [RELAY_TASK_NAMES.probe]: await parts.probeTimes.nextTurnInMs(account),
        [RELAY_TASK_NAMES.trim]: found.trimInMs,
        [RELAY_TASK_NAMES.sweepFiles]: { everyMs: found.hasSends ? SWEEP_MS : SWEEP_EMPTY_MS },
      };
    },
  };
}

function atLeast(ms: number, inMs: number | undefined): number | undefined {
  return inMs === undefined ? undefined : Math.max(ms, inMs);
}
