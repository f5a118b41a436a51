import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type Provider,
} from '@nestjs/common';
import { AccountNotFoundError, type AccountDirectory, type AccountRevision, openAccounts } from '#accounts';
import { type EventLog, RedisEventLog } from '#events';
import {
  MIN_ABSENCE_MS,
  ContactListPoll,
  ContactPoll,
  type FeedStore,
  HintingFeedStore,
  RecipientLookup,
  RedisPollQueue,
  RedisVolatileFields,
} from '#feed';
import { type Logger, openAgendas } from '#platform';
import { HintingRelayStore, HintingUpstreamHealth, MessageBinder, type RelayStore } from '#relay';
import {
  AccountUpstream,
  type AdaptiveBudget,
  HttpUpstream,
  RedisRequestBudget,
  type UpstreamHealth,
} from '#upstream';
import { AccountWatch } from './account-watch.js';
import { AccountFeedSource } from './poll/account-feed-source.js';
import { LoggedForms } from './poll/logged-forms.js';
import {
  ACCOUNT_UPSTREAM,
  ACCOUNT_WATCH,
  ACCOUNTS,
  AGENDAS,
  BLOB_STORE,
  BLOB_WATCH,
  CONTACT_LIST_POLL,
  CONTACT_POLL,
  ENVIRONMENT,
  EVENT_LOG,
  FEED_STORE,
  INSTANCE,
  LOGGER,
  POLL_QUEUE,
  RECIPIENT_LOOKUP,
  REDIS,
  RELAY_STORE,
  REQUEST_BUDGET,
  UPSTREAM_HEALTH,
  CLOCK,
} from './tokens.js';
import type { OpenedResources } from './opened.js';

/**
 * Provides what more than one role needs: the accounts, the upstream client, and the lookup of recipients and
 * messages.
 */
@Global()
@Module({})
export class CoreModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    @Inject(ACCOUNT_WATCH) private readonly watch: AccountWatch,
    @Inject(ACCOUNT_UPSTREAM) upstream: AccountUpstream,
  ) {
    watch.follow({
      removed: (account) => {
        upstream.forget(account);
      },
    });
  }

  onApplicationBootstrap(): void {
    this.watch.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.watch.stop();
  }

  static register(opened: OpenedResources): DynamicModule {
    const providers = bindings(opened);
    return {
      module: CoreModule,
      providers,
      exports: providers.map((provider) => (typeof provider === 'function' ? provider : provider.provide)),
    };
  }
}

function bindings({
  environment,
  logger,
  instance,
  redis,
  clock,
  blobs,
  blobWatch,
}: OpenedResources): Provider[] {
  const prefix = environment.REDIS_KEY_PREFIX;
  const volatileFields = new RedisVolatileFields(redis, prefix);
  const agendas = openAgendas(redis, prefix, logger);
  const relayHints = { relay: agendas.relay.hints, schedule: agendas.schedule.hints };
  return [
    { provide: ENVIRONMENT, useValue: environment },
    { provide: LOGGER, useValue: logger },
    { provide: INSTANCE, useValue: instance },
    { provide: REDIS, useValue: redis },
    { provide: CLOCK, useValue: clock },
    { provide: AGENDAS, useValue: agendas },
    { provide: ACCOUNTS, useValue: openAccounts(environment, redis, logger) },
    {
      provide: ACCOUNT_WATCH,
      inject: [ACCOUNTS, LOGGER],
      useFactory: (accounts: AccountDirectory & AccountRevision, log: Logger) =>
        new AccountWatch(accounts, log),
    },
    { provide: EVENT_LOG, useValue: new RedisEventLog(redis, prefix) },
    {
      provide: RELAY_STORE,
      useValue: new HintingRelayStore(redis, prefix, clock, blobs, logger, relayHints),
    },
    { provide: FEED_STORE, useValue: new HintingFeedStore(redis, prefix, agendas.poll.hints) },
    { provide: BLOB_STORE, useValue: blobs },
    { provide: BLOB_WATCH, useValue: blobWatch },
    {
      provide: UPSTREAM_HEALTH,
      useValue: new HintingUpstreamHealth(redis, prefix, [agendas.poll.hints, agendas.relay.hints]),
    },
    { provide: REQUEST_BUDGET, useValue: new RedisRequestBudget(redis, prefix) },
    { provide: POLL_QUEUE, useValue: new RedisPollQueue(redis, prefix) },
    {
      provide: ACCOUNT_UPSTREAM,
      inject: [ACCOUNTS, UPSTREAM_HEALTH, REQUEST_BUDGET],
      useFactory: (accounts: AccountDirectory, health: UpstreamHealth, budget: AdaptiveBudget) =>
        new AccountUpstream(
          new HttpUpstream(environment.UPSTREAM_TIMEOUT_MS),
          (id) => accountNamed(accounts, id),
          budget,
          health,
          logger,
        ),
    },
    {
      provide: CONTACT_LIST_POLL,
      inject: [FEED_STORE, ACCOUNT_UPSTREAM, EVENT_LOG, ACCOUNTS],
      useFactory: (
        store: FeedStore,
        upstream: AccountUpstream,
        log: EventLog,
        accounts: AccountDirectory,
      ) => {
        // The default account comes from the environment and has no date of its own: use the start of its
        // event log. An upstream outage at the first start is logged there before the first poll.
        const addedAt = async (account: string): Promise<number | undefined> =>
          (await accounts.find(account))?.addedAt ?? (await log.installedAt(account))?.getTime();
        return new ContactListPoll(store, new AccountFeedSource(upstream), MIN_ABSENCE_MS, addedAt, {
          store: volatileFields,
          logger,
        });
      },
    },
    {
      provide: CONTACT_POLL,
      inject: [FEED_STORE, ACCOUNT_UPSTREAM, RELAY_STORE, EVENT_LOG, ACCOUNTS],
      useFactory: (
        store: FeedStore,
        upstream: AccountUpstream,
        sends: RelayStore,
        log: EventLog,
        accounts: AccountDirectory,
      ) =>
        new ContactPoll(
          store,
          new AccountFeedSource(upstream),
          new MessageBinder(sends, logger),
          new LoggedForms(log),
          {
            interval: { min: environment.POLL_MIN_INTERVAL_MS, max: environment.POLL_MAX_INTERVAL_MS },
            undated: environment.POLL_BASELINE,
            readsPerSecond: async (id) => (await accountNamed(accounts, id)).requestsPerSecond * POLL_SHARE,
            settleMs: environment.POLL_SETTLE_HOURS * 3_600_000,
            sweepMs: environment.POLL_SWEEP_INTERVAL_MS,
            absenceMs: MIN_ABSENCE_MS,
            pageRetriesMs: PAGE_RETRIES_MS,
          },
          logger,
          volatileFields,
        ),
    },
    {
      provide: RECIPIENT_LOOKUP,
      inject: [FEED_STORE, CONTACT_LIST_POLL, CONTACT_POLL],
      useFactory: (store: FeedStore, contacts: ContactListPoll, messages: ContactPoll) =>
        new RecipientLookup(store, contacts, messages),
    },
  ];
}

/**
 * Waits before each retry of a failed page of old messages, in milliseconds. After the last retry, the page
 * is read in parts.
 */
const PAGE_RETRIES_MS = [2_000, 10_000];

/**
 * Share of the request budget that polls are scheduled for. The rest is left for sends, look-ups and callers'
 * reads.
 */
const POLL_SHARE = 0.6;

async function accountNamed(
  accounts: AccountDirectory,
  id: string,
): Promise<NonNullable<Awaited<ReturnType<AccountDirectory['find']>>>> {
  const account = await accounts.find(id);
  if (account === undefined) throw new AccountNotFoundError(id);
  return account;
}
