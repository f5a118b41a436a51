import type { Queue } from 'bullmq';
import { SecretCipher } from '#accounts';
import { RedisEventLogNotifier, RedisEventLogTrimSchedule } from '#events';
import {
  BullmqHintQueue,
  type Clock,
  isRedisNearlyFull,
  productVersion,
  type QueuePayloads,
  clockOfThisMachine,
  type WorkerEnvironment,
} from '#platform';
import {
  BacklogRefiller,
  BullmqDeliveryJobs,
  DeliveryAttempter,
  DeliveryRunner,
  DestinationGuard,
  EventDispatcher,
  AgendaNotifyingDeliveryStore,
  HttpDeliveryClient,
  DeliveryJobsWithReconciliation,
  RedisDeliveryDueTimeReader,
  RecentEventCache,
  RedisEndpointStore,
  createHostNameResolver,
} from '#webhooks';
import type { WorkerCore } from '../compose.js';
import { RoundSchedule } from '../round-schedule.js';
import { deliveryRetentionFrom, deliverySettingsFrom, eventRetentionFrom } from '../settings.js';
import { dispatchRounds } from './dispatch-rounds.js';
import { EventLogReader } from './event-log-reader.js';

/** The objects of the role `dispatch`. */
export interface DispatchRole {
  recent: RecentEventCache;
  deliveries: DeliveryRunner;
  reader: EventLogReader;
  rounds: RoundSchedule;
}

/** Builds the objects of the role `dispatch` on its queue. */
export function composeDispatch(
  core: WorkerCore,
  deliveryQueue: Queue<QueuePayloads['deliveries']>,
): DispatchRole {
  const { environment, logger, redis, clock, events, metrics, traces } = core;
  const prefix = environment.REDIS_KEY_PREFIX;
  const { agenda, scheduler } = core.agendas.dispatch;
  const endpoints = new RedisEndpointStore(redis, prefix, clock);
  const recent = new RecentEventCache();
  const store = new AgendaNotifyingDeliveryStore(redis, prefix, scheduler, recent);
  const jobs = new DeliveryJobsWithReconciliation(
    new BullmqDeliveryJobs(BullmqHintQueue.onQueue(deliveryQueue, clockOfThisMachine)),
    scheduler,
  );
  const attempter = attempterOf(environment, clock);
  const deliveries = new DeliveryRunner(
    metrics.deliveries.observeStore(store),
    endpoints,
    new BacklogRefiller(endpoints, store, events, logger),
    traces?.deliveries.interceptAttempter(attempter) ?? attempter,
    jobs,
    deliverySettingsFrom(environment),
    logger,
  );
  const notifier = new RedisEventLogNotifier(core.channels, prefix);
  const dispatcher = metrics.deliveries.observeDispatcher(
    new EventDispatcher(endpoints, store, jobs, logger, recent, { runner: deliveries, recovery: jobs }),
  );
  const retention = {
    deliveries: deliveryRetentionFrom(environment),
    events: eventRetentionFrom(environment),
  };
  const rounds = dispatchRounds({
    ...{ runner: deliveries, log: events, retention },
    isFull: () => isRedisNearlyFull(redis),
    deliveries: store,
    deliverySurvey: new RedisDeliveryDueTimeReader(redis, prefix, retention.deliveries),
    logSurvey: new RedisEventLogTrimSchedule(redis, prefix, retention.events),
  });
  return {
    recent,
    deliveries,
    reader: new EventLogReader(dispatcher, redis, notifier, prefix, logger),
    rounds: new RoundSchedule(agenda, rounds, logger, core.wakeUps.dispatch),
  };
}

function attempterOf(environment: WorkerEnvironment, clock: Clock): DeliveryAttempter {
  const guard = new DestinationGuard(environment.WEBHOOK_ALLOW_NETWORKS);
  return new DeliveryAttempter(
    new HttpDeliveryClient(guard, createHostNameResolver(), environment.WEBHOOK_TIMEOUT_MS),
    new SecretCipher(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS),
    { scheduleSeconds: environment.WEBHOOK_RETRY_SCHEDULE_SECONDS, random: Math.random },
    clock,
    productVersion(),
  );
}
