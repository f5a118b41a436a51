import { getQueueToken, Processor } from '@nestjs/bullmq';
import { Inject, Module } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { AccountDirectory } from '#accounts';
import type { ContactListPoll, ContactPoll, FeedStore, PollQueue } from '#feed';
import {
  BullmqHintQueue,
  type Logger,
  type QueuePayloads,
  systemClock,
  type WorkerEnvironment,
} from '#platform';
import { UpstreamProbe } from '#relay';
import type { AccountUpstream, AdaptiveBudget, UpstreamHealth } from '#upstream';
import type { AccountWatch } from '../account-watch.js';
import { probeLeaseMs } from '../probe.js';
import { queueOf, ROUNDS_OPTIONS } from '../queue.js';
import { RoundsProcessor } from '../rounds.processor.js';
import { RoundSchedule } from '../rounds.js';
import {
  ACCOUNT_UPSTREAM,
  ACCOUNT_WATCH,
  ACCOUNTS,
  CONTACT_LIST_POLL,
  CONTACT_POLL,
  DEEP_READER,
  ENVIRONMENT,
  FEED_STORE,
  LOGGER,
  POLL_AGENDA,
  POLL_QUEUE,
  POLL_ROUNDS,
  POLLER,
  REQUEST_BUDGET,
  UPSTREAM_HEALTH,
} from '../tokens.js';
import type { DeepReader, PollAgenda } from './poll-ports.js';
import { pollRounds } from './poll-rounds.js';
import { PollProcessor } from './poll.processor.js';
import { Poller } from './poller.js';

@Processor('poll-rounds', ROUNDS_OPTIONS)
class PollRoundsProcessor extends RoundsProcessor {
  constructor(@Inject(POLL_ROUNDS) schedule: RoundSchedule) {
    super(schedule);
  }
}

/** The role `poll`: reads the contact list and the contacts that are due. */
@Module({
  imports: [queueOf('poll'), queueOf('poll-rounds')],
  providers: [
    PollProcessor,
    PollRoundsProcessor,
    // The rounds look at every account before long.
    { provide: POLL_AGENDA, useValue: { at: () => Promise.resolve() } satisfies PollAgenda },
    // Nothing is scheduled for it yet.
    { provide: DEEP_READER, useValue: { run: () => Promise.resolve() } satisfies DeepReader },
    {
      provide: POLLER,
      inject: [
        POLL_QUEUE,
        CONTACT_POLL,
        DEEP_READER,
        POLL_AGENDA,
        ACCOUNTS,
        ACCOUNT_UPSTREAM,
        REQUEST_BUDGET,
        LOGGER,
      ],
      useFactory: (
        queue: PollQueue,
        heads: ContactPoll,
        deep: DeepReader,
        agenda: PollAgenda,
        accounts: AccountDirectory,
        upstream: AccountUpstream,
        budget: AdaptiveBudget,
        logger: Logger,
      ) => new Poller({ queue, heads, deep, agenda, accounts, upstream, budget, logger }),
    },
    {
      provide: POLL_ROUNDS,
      inject: [
        getQueueToken('poll-rounds'),
        getQueueToken('poll'),
        FEED_STORE,
        CONTACT_LIST_POLL,
        ACCOUNTS,
        ACCOUNT_UPSTREAM,
        UPSTREAM_HEALTH,
        ENVIRONMENT,
        LOGGER,
      ],
      useFactory: (
        rounds: Queue,
        polls: Queue<QueuePayloads['poll']>,
        store: FeedStore,
        contacts: ContactListPoll,
        accounts: AccountDirectory,
        upstream: AccountUpstream,
        health: UpstreamHealth,
        environment: WorkerEnvironment,
        logger: Logger,
      ) => {
        const hints = BullmqHintQueue.in(polls, systemClock);
        const probe = new UpstreamProbe(
          health,
          (account) => upstream.probe(account),
          probeLeaseMs(environment),
        );
        const all = pollRounds(
          store,
          contacts,
          accounts,
          hints,
          upstream,
          probe,
          environment.CONTACTS_INTERVAL_MS,
          logger,
        );
        return new RoundSchedule(rounds, all, accounts, logger);
      },
    },
  ],
})
export class PollModule {
  constructor(
    @Inject(ACCOUNT_WATCH) watch: AccountWatch,
    @Inject(FEED_STORE) private readonly store: FeedStore,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    watch.follow({
      came: (account, isNew) => {
        if (isNew) void this.wishForList(account);
      },
    });
  }

  /** A new account's contacts are read at once; a wish that is lost is made good by the next round. */
  private async wishForList(account: string): Promise<void> {
    try {
      await this.store.wishForList(account);
    } catch (error) {
      this.logger.warn(
        { account, err: error },
        'the contact list of a new account comes with the next round',
      );
    }
  }
}
