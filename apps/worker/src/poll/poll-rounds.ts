import type { AccountDirectory } from '#accounts';
import type { ContactListPoll, FeedStore } from '#feed';
import { type BullmqHintQueue, type Logger, logWords, type QueuePayloads } from '#platform';
import type { UpstreamProbe } from '#relay';
import { type AccountUpstream, BudgetExhaustedError, UpstreamError } from '#upstream';
import { PROBE_TICK_MS } from '../probe.js';
import type { Rounds } from '../rounds.js';

/** How often it is looked who is due. */
const TICK_MS = 250;
/** A contact whose poll was lost with its worker is due again after this; a poll that takes longer renews it. */
export const POLL_LEASE_MS = 15_000;
/** So many seconds' worth of polls are taken up at a time; more would only grow old in the queue. */
const TAKEN_UP_SECONDS = 2;

/** The polling role's rounds: who is due, and the contact list. */
export function pollRounds(
  store: FeedStore,
  contacts: ContactListPoll,
  accounts: AccountDirectory,
  hints: BullmqHintQueue<QueuePayloads['poll']>,
  upstream: Pick<AccountUpstream, 'isHeld'>,
  probe: UpstreamProbe,
  contactsEveryMs: number,
  logger: Logger,
): Rounds {
  const readList = async (account: string): Promise<void> => {
    if ((await accounts.find(account))?.polling !== true || (await upstream.isHeld(account))) return;
    try {
      await contacts.poll(account);
    } catch (error) {
      if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
      logger.warn({ account, reason: logWords(error) }, 'the contact list could not be read');
    }
  };
  return {
    due: {
      everyMs: TICK_MS,
      run: async (account) => {
        const { requestsPerSecond = 1, polling = false } = (await accounts.find(account)) ?? {};
        // While upstream is away polls would only fail; who is due stays due.
        if (!polling || (await upstream.isHeld(account))) return;
        const due = await store.claimDue(
          account,
          Math.ceil(requestsPerSecond * TAKEN_UP_SECONDS),
          POLL_LEASE_MS,
        );
        await hints.add(
          due.map((contactId) => ({ about: `${account}\n${contactId}`, payload: { account, contactId } })),
        );
      },
    },
    probe: { everyMs: PROBE_TICK_MS, run: (account) => probe.run(account) },
    contacts: { everyMs: contactsEveryMs, run: readList },
    'wished-contacts': {
      everyMs: TICK_MS,
      run: async (account) => {
        if (!(await upstream.isHeld(account)) && (await store.takeListWish(account))) await readList(account);
      },
    },
  };
}
