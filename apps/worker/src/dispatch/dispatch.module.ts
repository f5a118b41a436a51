import { getQueueToken, Processor } from '@nestjs/bullmq';
import { type BeforeApplicationShutdown, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import type { Queue } from 'bullmq';
import { SecretBox } from '#accounts';
import { type EventLog, RedisEventTail, RedisLogSurvey } from '#events';
import {
  type AgendaHints,
  type Agendas,
  BullmqHintQueue,
  type Logger,
  logOncePerError,
  openRedis,
  productVersion,
  type QueuePayloads,
  type RedisClient,
  type Clock,
  systemClock,
  type WorkerEnvironment,
  isRedisFull,
} from '#platform';
import {
  Backlog,
  BullmqDeliveryJobs,
  DeliveryAttempter,
  DeliveryWorker,
  type DeliveryStore,
  DestinationGuard,
  Dispatcher,
  HintingDeliveryStore,
  HttpDeliveryClient,
  ReconciledDeliveryJobs,
  RedisDeliverySurvey,
  RedisEndpointStore,
  systemResolver,
} from '#webhooks';
import type { AccountWatch } from '../account-watch.js';
import { registerQueue, ROUNDS_OPTIONS } from '../queue.js';
import { RoundsProcessor } from '../rounds.processor.js';
import { RoundSchedule } from '../rounds.js';
import { ACCOUNT_WATCH, AGENDAS, CLOCK, ENVIRONMENT, EVENT_LOG, LOGGER, REDIS } from '../tokens.js';
import { DELIVERY_PUMP, DELIVERY_STORE, DISPATCH_ROUNDS, EVENT_DISPATCH } from '../tokens.js';
import { type DispatchRoundParts, dispatchRounds } from './dispatch-rounds.js';
import { DeliveriesProcessor } from './deliveries.processor.js';
import { EventDispatch } from './event-dispatch.js';

/** Time that running delivery attempts get to finish when the worker stops, in milliseconds. */
const DRAIN_MS = 12_000;

@Processor('dispatch-ticks', ROUNDS_OPTIONS)
class DispatchRoundsProcessor extends RoundsProcessor {
  constructor(@Inject(DISPATCH_ROUNDS) schedule: RoundSchedule) {
    super(schedule);
  }
}

/**
 * The role `dispatch`: creates a delivery per event and endpoint, and sends the deliveries to the endpoints.
 */
@Module({
  imports: [registerQueue('deliveries'), registerQueue('dispatch-ticks')],
  providers: [
    DeliveriesProcessor,
    DispatchRoundsProcessor,
    {
      provide: DELIVERY_STORE,
      inject: [REDIS, AGENDAS, ENVIRONMENT],
      useFactory: (redis: RedisClient, { dispatch }: Agendas, environment: WorkerEnvironment) =>
        new HintingDeliveryStore(redis, environment.REDIS_KEY_PREFIX, dispatch.hints),
    },
    {
      provide: DELIVERY_PUMP,
      inject: [
        DELIVERY_STORE,
        getQueueToken('deliveries'),
        REDIS,
        CLOCK,
        AGENDAS,
        ENVIRONMENT,
        LOGGER,
        EVENT_LOG,
      ],
      useFactory: (
        store: DeliveryStore,
        queue: Queue<QueuePayloads['deliveries']>,
        redis: RedisClient,
        clock: Clock,
        { dispatch }: Agendas,
        environment: WorkerEnvironment,
        logger: Logger,
        log: EventLog,
      ) =>
        new DeliveryWorker(
          store,
          endpointStore(redis, environment, clock),
          new Backlog(endpointStore(redis, environment, clock), store, log),
          attempterOf(environment, clock),
          jobsOf(queue, dispatch.hints),
          {
            maxConcurrency: environment.WEBHOOK_MAX_CONCURRENCY,
            disableAfterMs: environment.WEBHOOK_DISABLE_AFTER_HOURS * 3_600_000,
            timeoutMs: environment.WEBHOOK_TIMEOUT_MS,
          },
          logger,
        ),
    },
    {
      provide: EVENT_DISPATCH,
      inject: [DELIVERY_STORE, getQueueToken('deliveries'), REDIS, CLOCK, AGENDAS, ENVIRONMENT, LOGGER],
      useFactory: (
        store: DeliveryStore,
        queue: Queue<QueuePayloads['deliveries']>,
        redis: RedisClient,
        clock: Clock,
        { dispatch }: Agendas,
        environment: WorkerEnvironment,
        logger: Logger,
      ) => {
        const { REDIS_URL, REDIS_KEY_PREFIX: prefix } = environment;
        const dispatcher = new Dispatcher(
          endpointStore(redis, environment, clock),
          store,
          jobsOf(queue, dispatch.hints),
          logger,
        );
        const open = (): RedisClient => openRedis(REDIS_URL, 'patient', logOncePerError(logger));
        const tail = new RedisEventTail(open, prefix, redis);
        return new EventDispatch(dispatcher, redis, tail, prefix, logger);
      },
    },
    {
      provide: DISPATCH_ROUNDS,
      inject: [
        getQueueToken('dispatch-ticks'),
        DELIVERY_PUMP,
        DELIVERY_STORE,
        EVENT_LOG,
        AGENDAS,
        REDIS,
        ENVIRONMENT,
        LOGGER,
      ],
      useFactory: (
        queue: Queue,
        pump: DeliveryWorker,
        store: DeliveryStore,
        log: EventLog,
        { dispatch }: Agendas,
        redis: RedisClient,
        environment: WorkerEnvironment,
        logger: Logger,
      ) => {
        const prefix = environment.REDIS_KEY_PREFIX;
        const retention = retentionOf(environment);
        const rounds = dispatchRounds({
          ...{ pump, log, retention },
          isFull: () => isRedisFull(redis),
          deliveries: store,
          deliverySurvey: new RedisDeliverySurvey(redis, prefix, retention.deliveries),
          logSurvey: new RedisLogSurvey(redis, prefix, retention.events),
        });
        return new RoundSchedule(queue, dispatch.agenda, rounds, logger);
      },
    },
  ],
})
export class DispatchModule implements OnModuleDestroy, BeforeApplicationShutdown {
  private stopped: Promise<void> = Promise.resolve();

  constructor(
    @Inject(ACCOUNT_WATCH) watch: AccountWatch,
    @Inject(DISPATCH_ROUNDS) rounds: RoundSchedule,
    @Inject(EVENT_DISPATCH) private readonly dispatch: EventDispatch,
    @Inject(DELIVERY_PUMP) private readonly pump: DeliveryWorker,
  ) {
    watch.follow(rounds);
    watch.follow(dispatch);
  }

  /**
   * Starts stopping without waiting, so that the other roles are stopped at the same time. {@link
   * beforeApplicationShutdown} waits for the end.
   */
  onModuleDestroy(): void {
    this.stopped = this.stop();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.stopped;
  }

  private async stop(): Promise<void> {
    await this.dispatch.stop();
    await this.pump.drain(DRAIN_MS);
  }
}

function endpointStore(redis: RedisClient, environment: WorkerEnvironment, clock: Clock): RedisEndpointStore {
  return new RedisEndpointStore(redis, environment.REDIS_KEY_PREFIX, clock);
}

function jobsOf(queue: Queue<QueuePayloads['deliveries']>, hints: AgendaHints): ReconciledDeliveryJobs {
  return new ReconciledDeliveryJobs(
    new BullmqDeliveryJobs(BullmqHintQueue.onQueue(queue, systemClock)),
    hints,
  );
}

function attempterOf(environment: WorkerEnvironment, clock: Clock): DeliveryAttempter {
  const guard = new DestinationGuard(environment.WEBHOOK_ALLOW_NETWORKS);
  return new DeliveryAttempter(
    new HttpDeliveryClient(guard, systemResolver(), environment.WEBHOOK_TIMEOUT_MS),
    new SecretBox(environment.ENCRYPTION_KEY, environment.ENCRYPTION_KEYS_PREVIOUS),
    { scheduleSeconds: environment.WEBHOOK_RETRY_SCHEDULE_SECONDS, random: Math.random },
    clock,
    productVersion(),
  );
}

function retentionOf(environment: WorkerEnvironment): DispatchRoundParts['retention'] {
  const hour = 3_600_000;
  return {
    deliveries: {
      maxAgeMs: environment.DELIVERY_RETENTION_HOURS * hour,
      maxCount: environment.DELIVERY_RETENTION_MAX,
    },
    events: {
      maxAgeMs: environment.EVENT_RETENTION_HOURS * hour,
      maxCount: environment.EVENT_RETENTION_MAX,
    },
  };
}
