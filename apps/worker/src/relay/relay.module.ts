import { randomBytes } from 'node:crypto';
import { getQueueToken, Processor } from '@nestjs/bullmq';
import { Inject, Module } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { RecipientLookup } from '#feed';
import {
  type Agendas,
  BullmqHintQueue,
  type Logger,
  type QueuePayloads,
  type RedisClient,
  systemClock,
  type WorkerEnvironment,
  isRedisFull,
} from '#platform';
import type { BlobStore } from '#blobs';
import {
  BullmqRelayJobs,
  FileSweep,
  LaneRunner,
  ReconciledRelayJobs,
  RedisRelaySurvey,
  type RedisUpstreamHealth,
  type RelayJobs,
  RelayRounds,
  type RelaySettings,
  type RelayStore,
  UpstreamProbe,
} from '#relay';
import type { AccountUpstream } from '#upstream';
import type { AccountWatch } from '../account-watch.js';
import { registerQueue, ROUNDS_OPTIONS } from '../queue.js';
import { RoundsProcessor } from '../rounds.processor.js';
import { RoundSchedule } from '../rounds.js';
import {
  ACCOUNT_UPSTREAM,
  ACCOUNT_WATCH,
  AGENDAS,
  BLOB_STORE,
  ENVIRONMENT,
  LANE_RUNNER,
  LOGGER,
  RECIPIENT_LOOKUP,
  REDIS,
  RELAY_JOBS,
  RELAY_ROUNDS,
  RELAY_STORE,
  UPSTREAM_HEALTH,
} from '../tokens.js';
import { probeLeaseMs } from '../probe.js';
import { AccountSender } from './account-sender.js';
import { relayRounds } from './relay-rounds.js';
import { RelayProcessor } from './relay.processor.js';
import { SendSchedule } from './send-schedule.js';

@Processor('relay-ticks', ROUNDS_OPTIONS)
class RelayRoundsProcessor extends RoundsProcessor {
  constructor(@Inject(RELAY_ROUNDS) schedule: RoundSchedule) {
    super(schedule);
  }
}

/** The role `relay`: sends the queued messages to upstream and tracks each send to its final state. */
@Module({
  imports: [registerQueue('relay'), registerQueue('relay-ticks')],
  providers: [
    RelayProcessor,
    RelayRoundsProcessor,
    {
      provide: RELAY_JOBS,
      inject: [getQueueToken('relay'), AGENDAS, LOGGER],
      useFactory: (queue: Queue<QueuePayloads['relay']>, { relay }: Agendas, logger: Logger) =>
        new ReconciledRelayJobs(
          new BullmqRelayJobs(BullmqHintQueue.onQueue(queue, systemClock), logger),
          relay.hints,
        ),
    },
    {
      provide: LANE_RUNNER,
      inject: [RELAY_STORE, ACCOUNT_UPSTREAM, RECIPIENT_LOOKUP, BLOB_STORE, RELAY_JOBS, ENVIRONMENT, LOGGER],
      useFactory: (
        store: RelayStore,
        upstream: AccountUpstream,
        lookup: RecipientLookup,
        blobs: BlobStore,
        jobs: RelayJobs,
        environment: WorkerEnvironment,
        logger: Logger,
      ) =>
        new LaneRunner(
          store,
          new AccountSender(upstream),
          lookup,
          blobs,
          jobs,
          relaySettingsFrom(environment),
          logger,
        ),
    },
    {
      provide: RELAY_ROUNDS,
      inject: [
        getQueueToken('relay-ticks'),
        RELAY_STORE,
        RECIPIENT_LOOKUP,
        BLOB_STORE,
        RELAY_JOBS,
        UPSTREAM_HEALTH,
        ACCOUNT_UPSTREAM,
        AGENDAS,
        REDIS,
        ENVIRONMENT,
        LOGGER,
      ],
      useFactory: (
        queue: Queue,
        store: RelayStore,
        lookup: RecipientLookup,
        blobs: BlobStore,
        jobs: RelayJobs,
        health: RedisUpstreamHealth,
        upstream: AccountUpstream,
        agendas: Agendas,
        redis: RedisClient,
        environment: WorkerEnvironment,
        logger: Logger,
      ) => {
        const rounds = new RelayRounds(store, lookup, blobs, jobs, relaySettingsFrom(environment));
        const probe = new UpstreamProbe(
          health,
          (account) => upstream.probe(account),
          probeLeaseMs(environment),
          { store, jobs },
        );
        const files = new FileSweep(store, blobs, systemClock, logger, () => randomBytes(16).toString('hex'));
        const retention = {
          maxAgeMs: environment.SEND_RETENTION_HOURS * 3_600_000,
          maxCount: environment.SEND_RETENTION_MAX,
        };
        const all = relayRounds({
          ...{ rounds, probe, files, retention },
          isFull: () => isRedisFull(redis),
          survey: new RedisRelaySurvey(
            redis,
            environment.REDIS_KEY_PREFIX,
            retention,
            environment.SEND_MAX_AGE_SECONDS * 1000,
          ),
          probeTimes: health,
          hints: { schedule: agendas.schedule.hints },
        });
        return new RoundSchedule(queue, agendas.relay.agenda, all, logger);
      },
    },
    {
      provide: SendSchedule,
      inject: [RELAY_STORE, RECIPIENT_LOOKUP, BLOB_STORE, RELAY_JOBS, AGENDAS, ENVIRONMENT, LOGGER],
      useFactory: (
        store: RelayStore,
        lookup: RecipientLookup,
        blobs: BlobStore,
        jobs: RelayJobs,
        { schedule }: Agendas,
        environment: WorkerEnvironment,
        logger: Logger,
      ) => {
        const rounds = new RelayRounds(store, lookup, blobs, jobs, relaySettingsFrom(environment));
        return new SendSchedule(rounds, schedule.agenda, logger);
      },
    },
  ],
})
export class RelayModule {
  constructor(
    @Inject(ACCOUNT_WATCH) watch: AccountWatch,
    @Inject(RELAY_ROUNDS) rounds: RoundSchedule,
    @Inject(LANE_RUNNER) lanes: LaneRunner,
  ) {
    watch.follow(rounds);
    watch.follow({
      removed: (account) => {
        lanes.forget(account);
      },
    });
  }
}

function relaySettingsFrom(environment: WorkerEnvironment): RelaySettings {
  return {
    retryScheduleSeconds: environment.SEND_RETRY_SCHEDULE_SECONDS,
    safeStatuses: environment.SEND_SAFE_STATUSES,
    maxAgeMs: environment.SEND_MAX_AGE_SECONDS * 1000,
    confirmMs: environment.SEND_CONFIRM_MS,
    confirmMediaMs: environment.SEND_CONFIRM_MEDIA_MS,
    onUnknown: environment.SEND_ON_UNKNOWN,
    postTimeoutMs: environment.UPSTREAM_TIMEOUT_MS,
  };
}
