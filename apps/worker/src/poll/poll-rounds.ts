import type { AccountDirectory } from '#accounts';
import { type ContactListPoll, type FeedStore, POLL_ROUND, type RedisFeedSurvey } from '#feed';
import {
  type AgendaHints,
  type AgendaTime,
  type BullmqHintQueue,
  type Logger,
  logWords,
  type QueuePayloads,
} from '#platform';
import type { UpstreamProbe } from '#relay';
import { type AccountUpstream, BudgetExhaustedError, UpstreamError } from '#upstream';
import { type ProbeTimes, probeRound } from '../probe.js';
import { type RoleRounds, SURVEY } from '../rounds.js';

/** How often it is looked whether somebody is due, in milliseconds. */
const TICK_MS = 250;
/** What an outage holds up is asked for at its end; and after this, should that be lost. */
const HELD_MS = 5_000;
/** So few contacts are read by the worker that found them due; more are for all workers. */
const FEW = 4;
/** So long it is waited for their reads; longer ones go on. */
const PATIENCE_MS = 300;
/** Those that are under way are looked after again after so long. */
const AFTER_FEW_MS = 1_000;

/** What the rounds of the polling role work with. */
export interface PollRoundParts {
  store: Pick<FeedStore, 'takeListWish'>;
  survey: Pick<RedisFeedSurvey, 'look'>;
  contacts: Pick<ContactListPoll, 'poll'>;
  accounts: Pick<AccountDirectory, 'find'>;
  /** Hints to all workers that an account has contacts that are due. */
  polls: Pick<BullmqHintQueue<QueuePayloads['poll']>, 'remind'>;
  /** Has this worker read what an account has due; answers when the next contact is due, if that is known in time. */
  here: { lookAndWait(account: string, patienceMs: number): Promise<number | undefined> };
  upstream: Pick<AccountUpstream, 'isHeld'>;
  probe: Pick<UpstreamProbe, 'run'>;
  probeTimes: ProbeTimes;
  agenda: Pick<AgendaHints, 'tell'>;
  contactsEveryMs: number;
  logger: Logger;
}

/** The polling role's rounds: whose contacts are due, and the contact list. */
export function pollRounds(parts: PollRoundParts): RoleRounds {
  const { accounts, agenda, upstream, survey } = parts;
  const isPolled = async (account: string): Promise<boolean> =>
    (await accounts.find(account))?.polling === true;
  const isHeld = async (account: string): Promise<boolean> => {
    const held = await upstream.isHeld(account);
    // Whoever noted the outage may not have told the agenda.
    if (held) agenda.tell(account, POLL_ROUND.probe, 0);
    return held;
  };
  return {
    tickMs: TICK_MS,
    rounds: {
      [POLL_ROUND.due]: {
        run: async (account) => {
          const { dueInMs, due } = await survey.look(account);
          if (due === 0) return dueInMs;
          // Whoever reads them finds out whether the account is polled at all.
          const nextInMs = due <= FEW ? await parts.here.lookAndWait(account, PATIENCE_MS) : undefined;
          if (nextInMs !== undefined) return nextInMs;
          if (!(await isPolled(account))) return undefined;
          if (await isHeld(account)) return HELD_MS;
          if (due <= FEW) return AFTER_FEW_MS;
          await parts.polls.remind([{ about: account, payload: { account } }]);
          return TICK_MS;
        },
      },
      [POLL_ROUND.contacts]: {
        run: async (account) => {
          if (!(await isPolled(account))) return undefined;
          if (await isHeld(account)) return HELD_MS;
          await parts.store.takeListWish(account);
          await readList(parts, account);
          return { everyMs: parts.contactsEveryMs };
        },
      },
      [POLL_ROUND.probe]: probeRound(parts.probe, parts.probeTimes, (account) => {
        agenda.tell(account, POLL_ROUND.due, 0);
        // A reading of the list may have been asked for meanwhile.
        agenda.tell(account, SURVEY, 0);
      }),
    },
    survey: async (account): Promise<Readonly<Record<string, AgendaTime | undefined>>> => {
      const probeInMs = await parts.probeTimes.nextTurnInMs(account);
      if (!(await isPolled(account))) return { [POLL_ROUND.probe]: probeInMs };
      const { dueInMs, wantsList } = await survey.look(account);
      return {
        [POLL_ROUND.due]: dueInMs,
        [POLL_ROUND.contacts]: wantsList ? 0 : { everyMs: parts.contactsEveryMs },
        [POLL_ROUND.probe]: probeInMs,
      };
    },
  };
}

async function readList({ contacts, logger }: PollRoundParts, account: string): Promise<void> {
  try {
    await contacts.poll(account);
  } catch (error) {
    if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
    logger.warn({ account, reason: logWords(error) }, 'the contact list could not be read');
  }
}
