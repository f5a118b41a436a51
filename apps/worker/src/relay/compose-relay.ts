import { randomBytes } from 'node:crypto';
import type { Queue } from 'bullmq';
import { OtherInstallationDetector } from '#blobs';
import {
  BullmqHintQueue,
  heartbeatSetRedisKey,
  isRedisNearlyFull,
  type Logger,
  namesOfProcessesWithKnownVersion,
  type QueuePayloads,
  readLiveHeartbeatMembers,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';
import {
  BullmqRelayJobs,
  UnusedFileRemover,
  LaneRunner,
  RelayJobsWithReconciliation,
  RedisRelayDueTimeReader,
  type RelayJobs,
  PeriodicRelayTasks,
  UpstreamProbe,
} from '#relay';
import { accountNamed, type WorkerCore } from '../compose.js';
import { probeLeaseMs } from '../probe.js';
import { RoundSchedule } from '../round-schedule.js';
import { relaySettingsFrom, sendRetentionFrom } from '../settings.js';
import { AccountSender } from './account-sender.js';
import { relayRounds } from './relay-rounds.js';
import { SendSchedule } from './send-schedule.js';

/** The objects of the role `relay`. */
export interface RelayRole {
  lanes: LaneRunner;
  jobs: RelayJobs;
  sendSchedule: SendSchedule;
  rounds: RoundSchedule;
  logger: Logger;
}

/** Builds the objects of the role `relay` on its queue. */
export function composeRelay(core: WorkerCore, relayQueue: Queue<QueuePayloads['relay']>): RelayRole {
  const { environment, logger, accounts, upstream, health, lookup, sends, blobs, agendas, wakeUps } = core;
  const settings = relaySettingsFrom(environment);
  const jobs = new RelayJobsWithReconciliation(
    new BullmqRelayJobs(BullmqHintQueue.onQueue(relayQueue, clockOfThisMachine), logger),
    agendas.relay.scheduler,
  );
  const sender = new AccountSender(upstream, (id) => accountNamed(accounts, id), health);
  const lanes = new LaneRunner(sends, sender, lookup, blobs, jobs, settings, logger);
  const rounds = new PeriodicRelayTasks(sends, lookup, blobs, jobs, settings);
  return {
    lanes,
    jobs,
    sendSchedule: new SendSchedule(rounds, agendas.schedule.agenda, logger, wakeUps.schedule),
    rounds: new RoundSchedule(agendas.relay.agenda, roundsOf(core, rounds, jobs), logger, wakeUps.relay),
    logger,
  };
}

function roundsOf(
  { environment, logger, redis, sends, blobs, instance, health, upstream, agendas }: WorkerCore,
  rounds: PeriodicRelayTasks,
  jobs: RelayJobs,
): ReturnType<typeof relayRounds> {
  const retention = sendRetentionFrom(environment);
  return relayRounds({
    rounds,
    retention,
    probe: new UpstreamProbe(health, (account) => upstream.probe(account), probeLeaseMs(environment), {
      store: sends,
      jobs,
    }),
    files: new UnusedFileRemover(
      sends,
      blobs,
      new OtherInstallationDetector(
        blobs,
        instance.name,
        () => runningProcesses(redis, environment.REDIS_KEY_PREFIX),
        logger,
      ),
      clockOfThisMachine,
      logger,
      () => randomBytes(16).toString('hex'),
    ),
    isFull: () => isRedisNearlyFull(redis),
    survey: new RedisRelayDueTimeReader(
      redis,
      environment.REDIS_KEY_PREFIX,
      retention,
      environment.SEND_MAX_AGE_SECONDS * 1000,
    ),
    probeTimes: health,
    schedulers: { schedule: agendas.schedule.scheduler },
  });
}

/** Returns the names of the running gateways and workers that use this Redis and have a marker in their blob store. */
async function runningProcesses(redis: RedisClient, prefix: string): Promise<string[]> {
  const lists = await Promise.all(
    (['gateways', 'workers'] as const).map((kind) =>
      readLiveHeartbeatMembers(redis, heartbeatSetRedisKey(prefix, kind)),
    ),
  );
  return namesOfProcessesWithKnownVersion(lists.flat());
}
