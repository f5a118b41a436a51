import {
  AccountNotFoundError,
  type AccountDirectory,
  type AccountRevision,
  createAccountDirectory,
} from '#accounts';
import { type EventLog, RedisEventLog } from '#events';
import {
  ContactListPoller,
  ContactPoller,
  type FeedStore,
  AgendaNotifyingFeedStore,
  MIN_ABSENCE_UNTIL_DELETED_MS,
  RecipientMessageReader,
  RedisVolatileFieldStore,
} from '#feed';
import {
  type AgendaName,
  type Agendas,
  type AgendaWakeUps,
  createAgendas,
  createRedisConnectionErrorLogger,
  openRedis,
  RedisAgendaWakeUps,
  RedisChannelSubscriber,
} from '#platform';
import {
  AgendaNotifyingRelayStore,
  ProbeTriggeringUpstreamHealth,
  MessageBinder,
  type RedisUpstreamHealth,
  type RelayStore,
} from '#relay';
import { BudgetedUpstream, type AdaptiveBudget, HttpUpstream, RedisRequestBudget } from '#upstream';
import { AccountWatch } from './account-watch.js';
import type { OpenedResources } from './opened.js';
import { AccountFeedSource } from './poll/account-feed-source.js';
import { RecordedMessageReader } from './poll/recorded-message-reader.js';
import { pollSettingsFrom } from './settings.js';

/**
 * Times to wait before each retry of a failed page of older messages, in milliseconds. After the last retry, the page
 * is read in parts.
 */
const PAGE_RETRIES_MS = [2_000, 10_000];

/**
 * Share of the request budget that polls are scheduled for. The rest is left for sends, look-ups and callers'
 * reads.
 */
const POLL_SHARE = 0.6;

/** The objects that more than one role uses. Each exists once per process. */
export interface WorkerCore extends OpenedResources {
  agendas: Agendas;
  wakeUps: Readonly<Record<AgendaName, AgendaWakeUps>>;
  /** The subscriptions of this process. */
  channels: RedisChannelSubscriber;
  accounts: AccountDirectory & AccountRevision;
  watch: AccountWatch;
  events: EventLog;
  sends: RelayStore;
  feed: FeedStore;
  health: RedisUpstreamHealth;
  budget: AdaptiveBudget;
  upstream: BudgetedUpstream;
  contactList: ContactListPoller;
  contacts: ContactPoller;
  /** Looks up sends among the messages of their recipients, for the relay. */
  lookup: RecipientMessageReader;
}

/** Builds the objects that more than one role uses. Opens no connection and starts nothing. */
export function composeCore(opened: OpenedResources): WorkerCore {
  const { environment, logger, redis, clock, blobs, metrics, traces } = opened;
  const prefix = environment.REDIS_KEY_PREFIX;
  const agendas = createAgendas(redis, prefix, logger);
  const { poll, relay, schedule } = agendas;
  const accounts = createAccountDirectory(environment, redis, logger);
  const health = new ProbeTriggeringUpstreamHealth(redis, prefix, [poll.scheduler, relay.scheduler]);
  const budget = metrics.upstream.observeBudget(new RedisRequestBudget(redis, prefix));
  const upstream = new BudgetedUpstream(
    metrics.upstream.observe(new HttpUpstream(environment.UPSTREAM_TIMEOUT_MS)),
    (id) => accountNamed(accounts, id),
    budget,
    health,
    logger,
  );
  const schedulers = { relay: relay.scheduler, schedule: schedule.scheduler };
  const store = metrics.relay.observeStore(
    metrics.sends.observeStore(
      new AgendaNotifyingRelayStore(
        redis,
        prefix,
        clock,
        blobs,
        logger,
        schedulers,
        environment.CONVERSATIONS,
      ),
    ),
  );
  const sends = traces?.relay.observeStore(store) ?? store;
  const feed = composeFeed(opened, { accounts, upstream, sends, agendas });
  const watch = new AccountWatch(accounts, logger);
  const channels = new RedisChannelSubscriber(
    () => openRedis(environment.REDIS_URL, 'patient', createRedisConnectionErrorLogger(logger)),
    prefix,
    redis,
  );
  const wakeUps = wakeUpsOf(channels, prefix);
  return { ...opened, agendas, wakeUps, channels, accounts, watch, sends, health, budget, upstream, ...feed };
}

function wakeUpsOf(channels: RedisChannelSubscriber, prefix: string): WorkerCore['wakeUps'] {
  const of = (name: AgendaName): AgendaWakeUps => new RedisAgendaWakeUps(channels, prefix, name);
  return { poll: of('poll'), relay: of('relay'), dispatch: of('dispatch'), schedule: of('schedule') };
}

/** Builds the reads of contacts and messages, which the polls and the look-ups of sends share. */
function composeFeed(
  { environment, logger, redis, metrics, traces }: OpenedResources,
  { accounts, upstream, sends, agendas }: Pick<WorkerCore, 'accounts' | 'upstream' | 'sends' | 'agendas'>,
): Pick<WorkerCore, 'events' | 'feed' | 'contactList' | 'contacts' | 'lookup'> {
  const prefix = environment.REDIS_KEY_PREFIX;
  const events = new RedisEventLog(redis, prefix);
  const store = metrics.feed.observeStore(
    new AgendaNotifyingFeedStore(redis, prefix, agendas.poll.scheduler, environment.CONVERSATIONS),
  );
  const feed = traces?.feed.interceptStore(store) ?? store;
  const budgeted = metrics.feed.observeSource(new AccountFeedSource(upstream));
  const source = traces?.feed.interceptSource(budgeted) ?? budgeted;
  const volatileFields = new RedisVolatileFieldStore(redis, prefix);
  // The default account comes from the environment, so no time of its addition is stored. The start of its event log
  // replaces that time. The log may start before the first poll, for example with an outage of upstream at the first
  // start.
  const addedAt = async (account: string): Promise<number | undefined> =>
    (await accounts.find(account))?.addedAt ?? (await events.installedAt(account))?.getTime();
  const listPoll = new ContactListPoller(feed, source, MIN_ABSENCE_UNTIL_DELETED_MS, addedAt, {
    store: volatileFields,
    logger,
  });
  const contactList = traces?.feed.interceptContactList(listPoll) ?? listPoll;
  const contactPoll = new ContactPoller(
    feed,
    source,
    new MessageBinder(sends, logger),
    new RecordedMessageReader(events),
    {
      ...pollSettingsFrom(environment),
      readsPerSecond: async (id) => (await accountNamed(accounts, id)).requestsPerSecond * POLL_SHARE,
      absenceMs: MIN_ABSENCE_UNTIL_DELETED_MS,
      pageRetriesMs: PAGE_RETRIES_MS,
    },
    logger,
    volatileFields,
  );
  const measured = metrics.feed.observeContacts(contactPoll);
  const contacts = traces?.feed.interceptContacts(measured) ?? measured;
  return {
    events,
    feed,
    contactList,
    contacts,
    lookup: new RecipientMessageReader(feed, contactList, contacts, logger),
  };
}

/** Returns an account. @throws {AccountNotFoundError} if the account is not found */
export async function accountNamed(
  accounts: AccountDirectory,
  id: string,
): Promise<NonNullable<Awaited<ReturnType<AccountDirectory['find']>>>> {
  const account = await accounts.find(id);
  if (account === undefined) throw new AccountNotFoundError(id);
  return account;
}
