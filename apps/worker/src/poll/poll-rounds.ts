import type { AccountDirectory } from '#accounts';
import { type ContactListPoller, type FeedStore, POLL_TASK_NAMES, type RedisPollDueTimeReader } from '#feed';
import {
  type BackgroundTaskScheduler,
  type AgendaTime,
  type BullmqHintQueue,
  type Logger,
  logMessageOf,
  type QueuePayloads,
} from '#platform';
import type { UpstreamProbe } from '#relay';
import { BudgetExhaustedError, UpstreamError, type UpstreamHealth } from '#upstream';
import { type ProbeTimes, probeRound } from '../probe.js';
import { MAX_RUNNING_TASKS, type RoleRounds, SURVEY } from '../round-schedule.js';

/** Maximum time between two reads of the agenda while wake-ups do not arrive, in milliseconds. */
const TICK_MS = 250;
/**
 * Delay until the next round of an account that has an outage, in milliseconds. The end of the outage normally
 * schedules the round earlier, but that notification may be lost.
 */
const RECHECK_HELD_MS = 5_000;
/**
 * Maximum number of due contacts that one worker reads alone. More due contacts are offered to all workers.
 */
const MAX_LOCAL_READS = 4;
/** Maximum time between two offers of an account's due contacts to all workers, in milliseconds. */
const MAX_OFFER_INTERVAL_MS = 1_000;
/**
 * Maximum time that a round waits for the reads of its own worker, in milliseconds. Slower reads continue in the
 * background.
 */
const MAX_LOCAL_WAIT_MS = 300;
/** Delay until a requested contact list that could not be read is read again, in milliseconds. */
const RETRY_REQUESTED_LIST_MS = 5_000;
/**
 * Maximum number of contact lists that one process reads at the same time. The limit leaves some of the tasks of the
 * process for the due contacts of other accounts, even while many upstreams hang.
 */
const MAX_RUNNING_LISTS = MAX_RUNNING_TASKS / 2;
/** Delay until the next try to read a contact list after {@link MAX_RUNNING_LISTS} was reached, in milliseconds. */
const RETRY_DELAYED_LIST_MS = 5_000;
/**
 * Delay until the next check of an account whose due contacts this worker reads as fast as the budget allows, in
 * milliseconds. If the worker dies, another one goes on after this time at the latest.
 */
const RECHECK_LIMITED_MS = 2_000;
/** Delay until an account with running reads is checked again, in milliseconds. */
const RECHECK_RUNNING_MS = 1_000;

/** Dependencies of the rounds of the role `poll`. */
export interface PollRoundParts {
  store: Pick<FeedStore, 'consumeContactListPollRequest'>;
  survey: Pick<RedisPollDueTimeReader, 'read'>;
  contacts: Pick<ContactListPoller, 'poll'>;
  accounts: Pick<AccountDirectory, 'find'>;
  /** Notifies all workers that an account has due contacts. */
  polls: Pick<BullmqHintQueue<QueuePayloads['poll']>, 'addRecurring'>;
  /**
   * Reads the due contacts of an account in this worker. Returns the time until the next contact is due, or
   * undefined if that is not known in time.
   */
  poller: {
    checkAndWait(account: string, patienceMs: number): Promise<number | undefined>;
    /** Returns true if this worker reads the due contacts as fast as the budget allows. */
    isLimitedByBudget(account: string): boolean;
  };
  health: Pick<UpstreamHealth, 'outage'>;
  probe: Pick<UpstreamProbe, 'run'>;
  probeTimes: ProbeTimes;
  agenda: Pick<BackgroundTaskScheduler, 'announce'>;
  /** Removes the conversation rows of an account. Present if rows are turned off. */
  eraseRows?: (account: string) => Promise<void>;
  contactsEveryMs: number;
  logger: Logger;
}

/**
 * Returns the rounds of the role `poll`: they read due contacts and the contact list, and probe an
 * unavailable upstream.
 */
export function pollRounds(parts: PollRoundParts): RoleRounds {
  const { accounts, agenda, health, survey } = parts;
  /** Accounts whose contact list was requested and could not be read yet. */
  const requested = new Set<string>();
  let runningLists = 0;
  const isPolled = async (account: string): Promise<boolean> =>
    (await accounts.find(account))?.polling === true;
  const isHeld = async (account: string): Promise<boolean> => {
    const held = (await health.outage(account)) !== undefined;
    // The process that recorded the outage may have crashed before it scheduled the probe.
    if (held) agenda.announce(account, POLL_TASK_NAMES.probe, 0);
    return held;
  };
  return {
    tickMs: TICK_MS,
    rounds: {
      [POLL_TASK_NAMES.due]: {
        run: async (account) => {
          const { dueInMs, due } = await survey.read(account);
          if (due === 0) return dueInMs;
          if (due > MAX_LOCAL_READS && parts.poller.isLimitedByBudget(account)) return RECHECK_LIMITED_MS;
          // The poller checks itself whether the account is polled.
          const nextInMs =
            due <= MAX_LOCAL_READS ? await parts.poller.checkAndWait(account, MAX_LOCAL_WAIT_MS) : undefined;
          if (nextInMs !== undefined) return nextInMs;
          const found = await accounts.find(account);
          if (found?.polling !== true) return undefined;
          if (await isHeld(account)) return RECHECK_HELD_MS;
          if (due <= MAX_LOCAL_READS) return RECHECK_RUNNING_MS;
          await parts.polls.addRecurring([{ subject: account, payload: { account } }]);
          // With a small budget, more frequent offers would not speed up the reads: one worker can use up the budget
          // alone.
          return Math.min(Math.max(1_000 / found.requestsPerSecond, TICK_MS), MAX_OFFER_INTERVAL_MS);
        },
      },
      [POLL_TASK_NAMES.contacts]: {
        run: async (account) => {
          if (!(await isPolled(account))) {
            requested.delete(account);
            return undefined;
          }
          if (await isHeld(account)) return RECHECK_HELD_MS;
          if (runningLists >= MAX_RUNNING_LISTS) return RETRY_DELAYED_LIST_MS;
          runningLists += 1;
          try {
            if (await parts.store.consumeContactListPollRequest(account)) requested.add(account);
            if (await readList(parts, account)) requested.delete(account);
          } finally {
            runningLists -= 1;
          }
          return requested.has(account) ? RETRY_REQUESTED_LIST_MS : { everyMs: parts.contactsEveryMs };
        },
      },
      [POLL_TASK_NAMES.probe]: probeRound(parts.probe, parts.probeTimes, (account) => {
        agenda.announce(account, POLL_TASK_NAMES.due, 0);
        // The contact list may have been requested during the outage.
        agenda.announce(account, SURVEY, 0);
      }),
    },
    survey: async (account): Promise<Readonly<Record<string, AgendaTime | undefined>>> => {
      await parts.eraseRows?.(account);
      const probeInMs = await parts.probeTimes.nextTurnInMs(account);
      if (!(await isPolled(account))) return { [POLL_TASK_NAMES.probe]: probeInMs };
      const { dueInMs, isListPollRequested } = await survey.read(account);
      return {
        [POLL_TASK_NAMES.due]: dueInMs,
        [POLL_TASK_NAMES.contacts]: isListPollRequested ? 0 : { everyMs: parts.contactsEveryMs },
        [POLL_TASK_NAMES.probe]: probeInMs,
      };
    },
  };
}

/** Returns false if upstream failed, or if the request budget is used up. */
async function readList({ contacts, logger }: PollRoundParts, account: string): Promise<boolean> {
  try {
    await contacts.poll(account);
    return true;
  } catch (error) {
    if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
    logger.warn({ account, reason: logMessageOf(error) }, 'could not read the contact list');
    return false;
  }
}
