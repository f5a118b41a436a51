import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PromMetrics } from '#metrics';
import { createLogger } from '#platform';
import type { SpanEnd, TraceSpan, Tracing } from '#tracing';
import { eventually } from '../../../../test/support/eventually.js';
import { metricsIn } from '../../../../test/support/metrics.js';
import { measureRequests } from '../metrics/http-metrics.js';
import { createServer } from './server.js';

const BODY = ['Content-Type: application/json', 'Content-Length: 2', '', '{}'];
const NO_BODY = ['', ''];

/** Traces that are kept as the ends of their spans. */
class KeptTraces implements Tracing {
  readonly ends: SpanEnd[] = [];

  mayRecord(): boolean {
    return true;
  }

  start(): TraceSpan {
    return {
      context: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      end: (end = () => ({})) => this.ends.push(end()),
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

let log: string[];
let traces: KeptTraces;
let metrics: PromMetrics;
let server: FastifyInstance;

beforeEach(() => {
  log = [];
  traces = new KeptTraces();
  metrics = new PromMetrics('gateway', 'test');
  const logger = createLogger('gateway', 'info', { write: (line: string) => log.push(line) });
  server = createServer(logger, {
    ...{ uploadMaxBytes: 1, upstreamTimeoutMs: 1, origins: [], tracing: traces },
  }).getInstance();
  measureRequests(server, metrics);
});

afterEach(async () => {
  await server.close();
});

async function listen(): Promise<number> {
  await server.listen({ port: 0, host: '127.0.0.1' });
  return (server.server.address() as AddressInfo).port;
}

/** Sends requests over one connection, and disconnects when the handler of the last one runs. */
async function breakOff(
  method: 'GET' | 'POST',
  handler: Handler,
  requests: readonly string[][],
): Promise<void> {
  let leave = (): void => undefined;
  let left = requests.length;
  server.route({
    method,
    url: '/v1/slow',
    handler: (request, reply) => {
      left -= 1;
      if (left === 0) leave();
      return handler(request, reply);
    },
  });
  const socket = connect(await listen(), '127.0.0.1');
  leave = () => socket.destroy();
  socket.on('error', () => undefined);
  const texts = requests.map((more) => [`${method} /v1/slow HTTP/1.1`, 'Host: x', ...more].join('\r\n'));
  socket.write(texts.join(''));
  await once(socket, 'close');
}

async function counted(status: string): Promise<number> {
  const { text } = await metrics.expose();
  return metricsIn(text).value('tidings_http_requests_total', { route: '/v1/slow', status }) || 0;
}

/**
 * Waits until the requests are logged and one more request is served. By then, a second report of a request would be
 * visible.
 */
async function expectAborted(count: number): Promise<void> {
  await eventually('the requests are logged', () => log.length >= count);
  const { port } = server.server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/v1/nowhere`);
  await eventually('the next request is logged', () => log.length > count);
  const line = { msg: 'request.ended', route: '/v1/slow', aborted: true };
  expect(log.map((text) => JSON.parse(text) as unknown)).toEqual([
    ...Array.from({ length: count }, () => expect.objectContaining(line)),
    expect.objectContaining({ status: 404 }),
  ]);
  expect(await counted('aborted')).toBe(count);
  expect(traces.ends).toEqual(
    Array.from({ length: count }, () => ({ error: 'the connection closed before the response was sent' })),
  );
}

const never: Handler = () => new Promise(() => undefined);

describe('A request whose caller disconnects is logged, counted and traced once as aborted', () => {
  it('after its body was read', async () => {
    await breakOff('POST', never, [BODY]);
    await expectAborted(1);
  });

  it('if it has no body', async () => {
    await breakOff('GET', never, [NO_BODY]);
    await expectAborted(1);
  });

  it('while it waits behind an earlier request of the same connection', async () => {
    await breakOff('POST', never, [BODY, BODY]);
    await expectAborted(2);
  });

  it('during a response that the handler writes itself', async () => {
    const stream: Handler = (_, reply) => {
      reply.hijack();
      reply.raw.writeHead(200).write(': begun\n\n');
      reply.raw.on('close', () => reply.raw.write(': late\n\n'));
    };
    await breakOff('GET', stream, [NO_BODY]);
    await expectAborted(1);
  });

  it('if its handler answers later', async () => {
    const late: Handler = async ({ raw }, reply) => {
      await once(raw.socket, 'close');
      return await reply.send('late');
    };
    await breakOff('POST', late, [BODY]);
    await expectAborted(1);
  });
});
