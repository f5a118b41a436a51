import { getQueueToken, Processor } from '@nestjs/bullmq';
import { Inject, Module } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { AccountDirectory } from '#accounts';
import {
  type ContactListPoll,
  type ContactPoll,
  type FeedStore,
  PollHints,
  type PollQueue,
  RedisFeedSurvey,
} from '#feed';
import {
  type Agendas,
  BullmqHintQueue,
  type Logger,
  type QueuePayloads,
  type RedisClient,
  systemClock,
  type WorkerEnvironment,
} from '#platform';
import { type RedisUpstreamHealth, UpstreamProbe } from '#relay';
import type { AccountUpstream, AdaptiveBudget } from '#upstream';
import type { AccountWatch } from '../account-watch.js';
import { probeLeaseMs } from '../probe.js';
import { registerQueue, ROUNDS_OPTIONS } from '../queue.js';
import { RoundsProcessor } from '../rounds.processor.js';
import { RoundSchedule } from '../rounds.js';
import {
  ACCOUNT_UPSTREAM,
  ACCOUNT_WATCH,
  ACCOUNTS,
  AGENDAS,
  CONTACT_LIST_POLL,
  CONTACT_POLL,
  ENVIRONMENT,
  FEED_STORE,
  LOGGER,
  POLL_QUEUE,
  POLL_ROUNDS,
  POLLER,
  REDIS,
  REQUEST_BUDGET,
  UPSTREAM_HEALTH,
} from '../tokens.js';
import { pollRounds } from './poll-rounds.js';
import { PollProcessor } from './poll.processor.js';
import { Poller } from './poller.js';

@Processor('poll-ticks', ROUNDS_OPTIONS)
class PollRoundsProcessor extends RoundsProcessor {
  constructor(@Inject(POLL_ROUNDS) schedule: RoundSchedule) {
    super(schedule);
  }
}

/** The role `poll`: reads the contact lists and the due contacts. */
@Module({
  imports: [registerQueue('poll'), registerQueue('poll-ticks')],
  providers: [
    PollProcessor,
    PollRoundsProcessor,
    {
      provide: POLLER,
      inject: [POLL_QUEUE, CONTACT_POLL, AGENDAS, ACCOUNTS, ACCOUNT_UPSTREAM, REQUEST_BUDGET, LOGGER],
      useFactory: (
        queue: PollQueue,
        contacts: ContactPoll,
        { poll: { hints } }: Agendas,
        accounts: AccountDirectory,
        upstream: AccountUpstream,
        budget: AdaptiveBudget,
        logger: Logger,
      ) => new Poller({ queue, contacts, agenda: new PollHints(hints), accounts, upstream, budget, logger }),
    },
    {
      provide: POLL_ROUNDS,
      inject: [
        getQueueToken('poll-ticks'),
        getQueueToken('poll'),
        POLLER,
        FEED_STORE,
        CONTACT_LIST_POLL,
        ACCOUNTS,
        ACCOUNT_UPSTREAM,
        UPSTREAM_HEALTH,
        AGENDAS,
        REDIS,
        ENVIRONMENT,
        LOGGER,
      ],
      useFactory: (
        ticks: Queue,
        polls: Queue<QueuePayloads['poll']>,
        here: Poller,
        store: FeedStore,
        contacts: ContactListPoll,
        accounts: AccountDirectory,
        upstream: AccountUpstream,
        health: RedisUpstreamHealth,
        { poll: { agenda, hints } }: Agendas,
        redis: RedisClient,
        environment: WorkerEnvironment,
        logger: Logger,
      ) => {
        const probe = new UpstreamProbe(
          health,
          (account) => upstream.probe(account),
          probeLeaseMs(environment),
        );
        const rounds = pollRounds({
          ...{ poller: here, store, contacts, accounts, upstream, probe, logger },
          survey: new RedisFeedSurvey(redis, environment.REDIS_KEY_PREFIX),
          polls: BullmqHintQueue.onQueue(polls, systemClock),
          probeTimes: health,
          agenda: hints,
          contactsEveryMs: environment.CONTACTS_INTERVAL_MS,
        });
        return new RoundSchedule(ticks, agenda, rounds, logger);
      },
    },
  ],
})
export class PollModule {
  constructor(
    @Inject(ACCOUNT_WATCH) watch: AccountWatch,
    @Inject(POLL_ROUNDS) rounds: RoundSchedule,
    @Inject(FEED_STORE) private readonly store: FeedStore,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    watch.follow(rounds);
    watch.follow({
      added: (account, isNew) => {
        if (isNew) void this.requestList(account);
      },
    });
  }

  /**
   * Requests an early read of a new account's contact list. If the request fails, the next round reads the
   * list.
   */
  private async requestList(account: string): Promise<void> {
    try {
      await this.store.requestListPoll(account);
    } catch (error) {
      this.logger.warn(
        { account, err: error },
        'could not request the contact list of a new account; the next round reads the list',
      );
    }
  }
}
