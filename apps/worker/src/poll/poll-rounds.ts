import type { AccountDirectory } from '#accounts';
import type { ContactListPoll, FeedStore } from '#feed';
import { type BullmqHintQueue, type Logger, logWords, type QueuePayloads } from '#platform';
import type { UpstreamProbe } from '#relay';
import { type AccountUpstream, BudgetExhaustedError, UpstreamError } from '#upstream';
import { PROBE_TICK_MS } from '../probe.js';
import type { Rounds } from '../rounds.js';

/** How often it is looked whether somebody is due. */
const TICK_MS = 250;

/** The polling role's rounds: whose contacts are due, and the contact list. */
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
        if ((await accounts.find(account))?.polling !== true || (await upstream.isHeld(account))) return;
        if (await store.isDue(account)) await hints.remind([{ about: account, payload: { account } }]);
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
