import { randomBytes } from 'node:crypto';
import { getQueueToken, Processor } from '@nestjs/bullmq';
import { Inject, Module } from '@nestjs/common';
import type { Queue } from 'bullmq';
import type { AccountDirectory } from '#accounts';
import type { RecipientLookup } from '#feed';
import {
  BullmqHintQueue,
  type Logger,
  type QueuePayloads,
  systemClock,
  type WorkerEnvironment,
} from '#platform';
import {
  type BlobStore,
  BullmqRelayJobs,
  FileSweep,
  LaneRunner,
  type RelayJobs,
  RelayRounds,
  type RelaySettings,
  type RelayStore,
  UpstreamProbe,
} from '#relay';
import type { AccountUpstream, UpstreamHealth } from '#upstream';
import type { AccountWatch } from '../account-watch.js';
import { queueOf, ROUNDS_OPTIONS } from '../queue.js';
import { RoundsProcessor } from '../rounds.processor.js';
import { type Rounds, RoundSchedule } from '../rounds.js';
import {
  ACCOUNT_UPSTREAM,
  ACCOUNT_WATCH,
  ACCOUNTS,
  BLOB_STORE,
  ENVIRONMENT,
  LANE_RUNNER,
  LOGGER,
  RECIPIENT_LOOKUP,
  RELAY_JOBS,
  RELAY_ROUNDS,
  RELAY_STORE,
  UPSTREAM_HEALTH,
} from '../tokens.js';
import { PROBE_TICK_MS, probeLeaseMs } from '../probe.js';
import { AccountSender } from './account-sender.js';
import { RelayProcessor } from './relay.processor.js';
import { SendSchedule } from './send-schedule.js';

@Processor('relay-rounds', ROUNDS_OPTIONS)
class RelayRoundsProcessor extends RoundsProcessor {
  constructor(@Inject(RELAY_ROUNDS) schedule: RoundSchedule) {
    super(schedule);
  }
}

/** The role `relay`: hands sends to upstream and sees to their ends. */
@Module({
  imports: [queueOf('relay'), queueOf('relay-rounds')],
  providers: [
    RelayProcessor,
    RelayRoundsProcessor,
    {
      provide: RELAY_JOBS,
      inject: [getQueueToken('relay'), LOGGER],
      useFactory: (queue: Queue<QueuePayloads['relay']>, logger: Logger) =>
        new BullmqRelayJobs(BullmqHintQueue.in(queue, systemClock), logger),
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
          settingsOf(environment),
          logger,
        ),
    },
    {
      provide: RELAY_ROUNDS,
      inject: [
        getQueueToken('relay-rounds'),
        RELAY_STORE,
        RECIPIENT_LOOKUP,
        BLOB_STORE,
        RELAY_JOBS,
        ACCOUNTS,
        UPSTREAM_HEALTH,
        ACCOUNT_UPSTREAM,
        ENVIRONMENT,
        LOGGER,
      ],
      useFactory: (
        queue: Queue,
        store: RelayStore,
        lookup: RecipientLookup,
        blobs: BlobStore,
        jobs: RelayJobs,
        accounts: AccountDirectory,
        health: UpstreamHealth,
        upstream: AccountUpstream,
        environment: WorkerEnvironment,
        logger: Logger,
      ) => {
        const rounds = new RelayRounds(store, lookup, blobs, jobs, settingsOf(environment));
        const probe = new UpstreamProbe(
          health,
          (account) => upstream.probe(account),
          probeLeaseMs(environment),
          { store, jobs },
        );
        const files = new FileSweep(store, blobs, systemClock, logger, () => randomBytes(16).toString('hex'));
        return new RoundSchedule(queue, roundsOf(rounds, probe, files, environment), accounts, logger);
      },
    },
    {
      provide: SendSchedule,
      inject: [RELAY_STORE, RECIPIENT_LOOKUP, BLOB_STORE, RELAY_JOBS, ACCOUNTS, ENVIRONMENT, LOGGER],
      useFactory: (
        store: RelayStore,
        lookup: RecipientLookup,
        blobs: BlobStore,
        jobs: RelayJobs,
        accounts: AccountDirectory,
        environment: WorkerEnvironment,
        logger: Logger,
      ) => {
        const rounds = new RelayRounds(store, lookup, blobs, jobs, settingsOf(environment));
        return new SendSchedule(rounds, accounts, logger);
      },
    },
  ],
})
export class RelayModule {
  constructor(@Inject(ACCOUNT_WATCH) watch: AccountWatch, @Inject(LANE_RUNNER) lanes: LaneRunner) {
    watch.follow({
      went: (account) => {
        lanes.forget(account);
      },
    });
  }
}

function settingsOf(environment: WorkerEnvironment): RelaySettings {
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

function roundsOf(
  rounds: RelayRounds,
  probe: UpstreamProbe,
  files: FileSweep,
  environment: WorkerEnvironment,
): Rounds {
  const retention = {
    maxAgeMs: environment.SEND_RETENTION_HOURS * 3_600_000,
    maxCount: environment.SEND_RETENTION_MAX,
  };
  return {
    reconcile: { everyMs: 5_000, run: (account) => rounds.reconcile(account) },
    confirm: { everyMs: 500, run: (account) => rounds.confirm(account) },
    probe: { everyMs: PROBE_TICK_MS, run: (account) => probe.run(account) },
    trim: { everyMs: 30_000, run: (account) => rounds.trim(account, retention) },
    sweepFiles: { everyMs: 600_000, run: (account) => files.sweep(account) },
  };
}
