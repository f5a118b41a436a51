import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type {
  AppControllerRoute,
  BullBoardQueues,
  ControllerHandlerReturnType,
  IServerAdapter,
} from '@bull-board/api/typings/app';
import { Queue } from 'bullmq';
import { type Logger, queueRedisKeyPrefix, type QueueName, type RedisClient } from '#platform';
import { notFound, Problem } from '../problems/problem.js';
import { UI_CONFIG } from './ui-config.js';
import { visibleFields } from './visible-fields.js';

/** What Bull Board shows about each queue. */
const DESCRIPTIONS: Readonly<Record<QueueName, string>> = {
  relay: 'Wakes a worker: recipients have sends to relay',
  poll: 'Wakes a worker: an account has contacts to poll',
  deliveries: 'Wakes a worker: a webhook has deliveries that are due',
};

/** Ids of jobs contain a digit and no colon. The keys of the queue itself, such as `wait`, never match. */
const JOB_ID = /^(?=.*\d)[\w-]{1,200}$/;

/** A request for a part of the board. */
export interface BoardRequest {
  params: Readonly<Record<string, string | undefined>>;
  query: Readonly<Record<string, unknown>>;
}

export interface QueueBoardOptions {
  /** The connection of the gateway. The queues use it, so that they need none of their own. */
  redis: RedisClient;
  /** First part of every Redis key. */
  prefix: string;
  logger: Logger;
}

/** Reads the state of the queues with the handlers of Bull Board. It never writes. */
export class QueueBoard {
  private constructor(
    private readonly queues: readonly Queue[],
    private readonly handlers: HandlerTable,
  ) {}

  /** Opens the queues. A queue that does not become ready never recovers, so a failed call closes all of them. */
  static async open({ redis, prefix, logger }: QueueBoardOptions): Promise<QueueBoard> {
    const names = Object.keys(DESCRIPTIONS) as QueueName[];
    const queues = names.map((name) => {
      const queue = new Queue(name, {
        connection: redis,
        prefix: queueRedisKeyPrefix(prefix, name),
        skipMetasUpdate: true,
      });
      queue.on('error', (error) => {
        logger.warn(
          { queue: name, error: error.message },
          'could not read a BullMQ queue for the queue dashboard',
        );
      });
      return queue;
    });
    try {
      await Promise.all(queues.map((queue) => queue.waitUntilReady()));
    } catch (error) {
      await closeAll(queues);
      throw error;
    }
    const handlers = new HandlerTable();
    createBullBoard({
      queues: queues.map(
        (queue) =>
          new BullMQAdapter(queue, {
            readOnlyMode: true,
            description: DESCRIPTIONS[queue.name as QueueName],
          }),
      ),
      serverAdapter: handlers,
      // The pages are served by the gateway. Without this path, the package would look for them.
      options: { uiConfig: UI_CONFIG, uiBasePath: '.' },
    });
    return new QueueBoard(queues, handlers);
  }

  /** Resolves to the reply at a path below `/api`. @throws {Problem} `not_found`, `validation_failed` */
  async read(path: string, { params, query }: BoardRequest): Promise<unknown> {
    const { queueName, jobId } = params;
    if (queueName !== undefined && !(queueName in DESCRIPTIONS)) throw notFound('queue', queueName);
    if (jobId !== undefined && !JOB_ID.test(jobId)) throw notFound('job', jobId);
    const { activeQueue, ...others } = query;
    const isKnown = typeof activeQueue === 'string' && activeQueue in DESCRIPTIONS;
    const { status = 200, body } = await this.handlers.call(path, {
      params,
      // Bull Board decodes the name a second time and would fail on other names.
      query: isKnown ? { ...others, activeQueue } : others,
    });
    if (status === 404) throw new Problem('not_found', 'The queue does not have this job.');
    if (status >= 400) throw new Problem('validation_failed', 'The query has an invalid parameter.');
    return visibleFields(body);
  }

  async close(): Promise<void> {
    await closeAll(this.queues);
  }
}

async function closeAll(queues: readonly Queue[]): Promise<void> {
  await Promise.all(queues.map((queue) => queue.close().catch(() => undefined)));
}

/**
 * Stores the handlers of Bull Board in place of the HTTP server adapter that Bull Board expects. Stores only handlers
 * that read.
 */
class HandlerTable implements IServerAdapter {
  private readonly routes = new Map<string, AppControllerRoute>();
  private queues: BullBoardQueues = new Map();

  async call(path: string, { params, query }: BoardRequest): Promise<ControllerHandlerReturnType<unknown>> {
    const route = this.routes.get(`/api${path}`);
    if (route === undefined) throw new Error(`Bull Board has no handler for ${path}`);
    return await route.handler({
      queues: this.queues,
      uiConfig: UI_CONFIG,
      params,
      query,
      body: {},
      headers: {},
    });
  }

  setQueues(queues: BullBoardQueues): this {
    this.queues = queues;
    return this;
  }

  setApiRoutes(routes: readonly AppControllerRoute[]): this {
    for (const one of routes)
      if ([one.method].flat().includes('get'))
        for (const path of [one.route].flat()) this.routes.set(path, one);
    return this;
  }

  setEntryRoute(): this {
    return this;
  }
  setErrorHandler(): this {
    return this;
  }
  setStaticPath(): this {
    return this;
  }
  setUIConfig(): this {
    return this;
  }
  setViewsPath(): this {
    return this;
  }
}
