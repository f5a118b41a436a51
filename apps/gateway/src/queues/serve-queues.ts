import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayEnvironment, Logger, RedisClient } from '#platform';
import { callerOf } from '../auth/caller.js';
import { isOperator } from '../auth/operator.js';
import { once } from '../calls/once.js';
import { Problem } from '../problems/problem.js';
import { ENVIRONMENT, LOGGER, REDIS } from '../tokens.js';
import { type BoardFile, listBoardFiles, readBridge, renderBoardPage } from './board-files.js';
import { FRAME_PATH, QUEUES_PATH } from './paths.js';
import type { BoardRequest, QueueBoard } from './queue-board.js';

/** Paths of Bull Board's pages. The same page is served at each of them, and its script shows what the path names. */
const PAGES = ['', '/', '/job-schedulers', '/queue/:queueName', '/queue/:queueName/:jobId'];

/** Paths below `/api` that read the queues. */
const READS = [
  '/redis/stats',
  '/queues',
  '/job-schedulers',
  '/queues/:queueName/metrics',
  '/queues/:queueName/default-job-options',
  '/queues/:queueName/workers',
  '/queues/:queueName/rate-limit',
  '/queues/:queueName/job-data-schema',
  '/queues/:queueName/:jobId/logs',
  '/queues/:queueName/:jobId',
];

/** No job belongs to a flow. Bull Board would open a second client of the queues to find that out. */
const FLOW = '/queues/:queueName/:jobId/flow';

const PUBLIC: FastifyContextConfig = { isPublic: true };
/** The handlers also check that the caller is an operator. */
const FOR_OPERATORS: FastifyContextConfig = { scopes: ['admin'], tokenRule: 'keys-only' };

/**
 * Hashes of the inline style sheets of Bull Board's pages: the colors of an icon, and the hidden scroll bars of lists. The
 * test in a browser fails if a new version of Bull Board changes the first.
 */
const INLINE_STYLES = [
  "'sha256-r2N1TB/gHbBtBZFKg7ejmq1acVSREzucTAEw6ga4hoU='",
  "'sha256-kLmvWqfziFavKtqHqRsb90f006UAK2Dmd0It5Iz2KFA='",
];

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'x-frame-options': 'SAMEORIGIN',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${INLINE_STYLES.join(' ')}`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; '),
};

const YEAR_SECONDS = 31_536_000;

/**
 * Serves Bull Board, which shows the queues of the installation, at {@link QUEUES_PATH} and at {@link FRAME_PATH}. All
 * data is below `api` of these paths, and only for operators. Nothing is loaded before the first request.
 */
export function serveQueues(app: NestFastifyApplication): void {
  const server = app.getHttpAdapter().getInstance();
  const board = once(() => openBoard(app));
  const files = once(listBoardFiles);
  const bridge = once(readBridge);
  for (const [base, ofPages] of [
    [QUEUES_PATH, FOR_OPERATORS],
    [FRAME_PATH, PUBLIC],
  ] as const) {
    const page = once(() => renderBoardPage(base));
    for (const path of PAGES)
      server.get(`${base}${path}`, { config: ofPages }, async (request, reply) => {
        if (ofPages === FOR_OPERATORS) assertOperator(request);
        return reply.headers(PAGE_HEADERS).send(await page());
      });
    server.get(`${base}/bridge.js`, { config: PUBLIC }, async (_, reply) =>
      sendFile(reply, 'text/javascript; charset=utf-8', false, await bridge()),
    );
    server.get<{ Params: { '*': string } }>(
      `${base}/static/*`,
      { config: PUBLIC },
      async (request, reply) => {
        const file: BoardFile | undefined = (await files()).get(request.params['*']);
        if (file === undefined) throw new Problem('not_found', 'This URL does not exist.');
        return sendFile(reply, file.type, file.isHashed, await file.read());
      },
    );
    for (const path of [...READS, FLOW])
      server.get<{ Params: BoardRequest['params']; Querystring: BoardRequest['query'] }>(
        `${base}/api${path}`,
        { config: FOR_OPERATORS },
        async (request, reply) => {
          assertOperator(request);
          reply.header('cache-control', 'no-store');
          if (path === FLOW) return { nodeId: request.params['jobId'], flowRoot: null, isFlowNode: false };
          return (await board()).read(path, request);
        },
      );
    // Paths without data are also for operators only, so that nobody else learns which paths have data.
    server.get(`${base}/api/*`, { config: FOR_OPERATORS }, (request) => {
      assertOperator(request);
      throw new Problem('not_found', 'This URL does not exist.');
    });
  }
  server.addHook('onClose', async () => {
    await (await board.current())?.close();
  });
}

async function openBoard(app: NestFastifyApplication): Promise<QueueBoard> {
  const { QueueBoard } = await import('./queue-board.js');
  return await QueueBoard.open({
    redis: app.get<RedisClient>(REDIS),
    prefix: app.get<GatewayEnvironment>(ENVIRONMENT).REDIS_KEY_PREFIX,
    logger: app.get<Logger>(LOGGER),
  });
}

/** @throws {Problem} `forbidden` */
function assertOperator(request: FastifyRequest): void {
  const caller = callerOf(request);
  if (caller === undefined || !isOperator(caller))
    throw new Problem('forbidden', 'Only admins of the account `default` can see the queues.');
}

function sendFile(reply: FastifyReply, type: string, isHashed: boolean, content: Buffer): FastifyReply {
  const cache = isHashed ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache';
  return reply.headers({ 'content-type': type, 'cache-control': cache }).send(content);
}
