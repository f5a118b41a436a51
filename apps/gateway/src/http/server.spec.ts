import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, jest } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { TIMELINE_PAGE_READ_TIME_LIMIT_MS } from '#conversations';
import { createLogger } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { LIMITS } from './limits.js';
import { createServer } from './server.js';

function serverWith(upstreamTimeoutMs: number): FastifyInstance {
  const logger = createLogger('gateway', 'silent', { write: () => undefined });
  return createServer(logger, { uploadMaxBytes: 1, upstreamTimeoutMs, origins: [] }).getInstance();
}

/** Returns the idle timeout of the server, in milliseconds. */
const silenceMs = (upstreamTimeoutMs: number): number => serverWith(upstreamTimeoutMs).server.timeout;

it('the idle timeout of a connection is longer than the longest read of a timeline page, including its last upstream request', () => {
  for (const upstreamTimeoutMs of [1, 10_000, 30_000, 60_000])
    expect(silenceMs(upstreamTimeoutMs)).toBeGreaterThanOrEqual(
      TIMELINE_PAGE_READ_TIME_LIMIT_MS + upstreamTimeoutMs + 10_000,
    );
});

it('the idle timeout of a connection is longer than the upstream timeout, so that a caller gets 504 before it is disconnected', () => {
  expect(silenceMs(10_000)).toBe(60_000);
  for (const upstreamTimeoutMs of [60_000, 300_000])
    expect(silenceMs(upstreamTimeoutMs)).toBeGreaterThanOrEqual(upstreamTimeoutMs + 10_000);
  // A timer in Node.js fires after 1 ms if its delay exceeds the maximum.
  expect(silenceMs(2_147_483_647)).toBe(2_147_483_647);
});

it('the gateway accepts at most the documented number of connections', () => {
  expect(serverWith(10_000).server.maxConnections).toBe(LIMITS.connections);
});

it('the gateway disconnects a caller whose body has not arrived within the documented time', async () => {
  const server = serverWith(10_000);
  server.post('/body', () => 'read');
  await server.listen({ port: 0, host: '127.0.0.1' });
  const setTimer = jest.spyOn(globalThis, 'setTimeout');
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString()));
  try {
    await once(socket, 'connect');
    socket.write(
      'POST /body HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"',
    );
    const deadline = await eventually('the deadline of the body begins', () =>
      setTimer.mock.calls.find(([, ms]) => ms === LIMITS.bodyMs),
    );
    deadline[0]();
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1.1 400 /);
  } finally {
    setTimer.mockRestore();
    socket.destroy();
    await server.close();
  }
});
