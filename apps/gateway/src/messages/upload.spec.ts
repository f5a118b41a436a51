import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { KEY, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeToken } from '../fixtures/tokens.js';

const MAX = 26_214_400;
const CHUNK = Buffer.alloc(65_536, 'x');

let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url, environment: { UPLOAD_MAX_BYTES: String(MAX) } });
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

const HEAD = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n';
const FIELDS =
  '\r\n--x\r\nContent-Disposition: form-data; name="phoneNumber"\r\n\r\n+14155550123\r\n--x--\r\n';

/** Generates a form with a file of the given size in bytes. It calls `watch` between chunks. */
async function* bodyOf(size: number, watch: () => void = () => undefined): AsyncGenerator<Buffer> {
  await Promise.resolve();
  yield Buffer.from(HEAD);
  for (let left = size; left > 0; left -= CHUNK.length) {
    watch();
    yield CHUNK.subarray(0, Math.min(left, CHUNK.length));
  }
  yield Buffer.from(FIELDS);
}

async function upload(size: number, watch?: () => void): Promise<Response> {
  return await gateway.fetch('/v1/messages/send', {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: ReadableStream.from(bodyOf(size, watch)),
    duplex: 'half',
  });
}

/** Collects garbage, so that the measured memory is in use. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

describe('An upload', () => {
  it('of the maximum size is streamed to the blob store without being held in memory', async () => {
    await upload(CHUNK.length);
    const collect = collector();
    collect();
    const before = process.memoryUsage().arrayBuffers;
    let [chunks, most] = [0, 0];
    const response = await upload(MAX, () => {
      if (++chunks % 10 !== 0) return;
      const grown = (): number => process.memoryUsage().arrayBuffers - before;
      // A collection is slow, and could make a small number only smaller.
      if (grown() >= MAX / 4) collect();
      most = Math.max(most, grown());
    });
    expect(response.status).toBe(200);
    expect(gateway.sends.requests.at(-1)?.request.file?.size).toBe(MAX);
    expect(most).toBeLessThan(MAX / 2);
  });

  it('above the maximum size causes 413 and leaves no file', async () => {
    const before = await gateway.blobs();
    for (const size of [MAX + 1, MAX + 4_000_000]) {
      const problem = await problemOf(await upload(size));
      expect(problem).toMatchObject({ status: 413, code: 'payload_too_large', errors: [{ field: 'file' }] });
    }
    expect(await gateway.blobs()).toEqual(before);
  });

  it('gets 429 if its token has ten unfinished uploads; other callers are not affected, and finished uploads are not counted', async () => {
    const { token } = await makeToken(gateway);
    const form = { 'content-type': 'multipart/form-data; boundary=x' };
    const uploads = Array.from({ length: 11 }, () => {
      const headers = { ...form, authorization: `Bearer ${token}` };
      const call = request(`${gateway.url}/v1/messages/send`, { method: 'POST', headers });
      call.write(HEAD);
      const response = once(call, 'response').then(([reply]) => reply as IncomingMessage);
      return { call, response };
    });
    const refused = await Promise.race(uploads.map(({ response }) => response));
    expect(refused.statusCode).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse(await textOf(refused))).toMatchObject({
      code: 'rate_limited',
      detail: 'The token has reached its limit of simultaneous uploads.',
    });
    const another = async (credentials: { token?: string } = {}): Promise<number> => {
      const body = `${HEAD}content${FIELDS}`;
      const init = { method: 'POST', headers: form, body, ...credentials };
      return (await gateway.fetch('/v1/messages/send', init)).status;
    };
    expect(await another()).toBe(200);
    const statuses = uploads.map(async ({ call, response }) => {
      call.on('error', () => undefined).end(`content${FIELDS}`);
      const reply = await response;
      reply.resume();
      return reply.statusCode;
    });
    expect((await Promise.all(statuses)).toSorted()).toEqual([...Array<number>(10).fill(200), 429]);
    expect(await another({ token })).toBe(200);
  });

  it('with text parts above their total limit causes 413 before the whole form is read, so that slow forms cannot fill the memory', async () => {
    const part = (name: string): string =>
      `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${'x'.repeat(200_000)}\r\n`;
    const response = await gateway.fetch('/v1/messages/send', {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      // The form has no end.
      body: ReadableStream.from([Buffer.from(part('a') + part('b') + part('c'))]),
      duplex: 'half',
    });
    const problem = await problemOf(response);
    expect(problem).toMatchObject({ status: 413, code: 'payload_too_large' });
    expect(problem.detail).toContain('393216 bytes in total');
  });

  it.each([
    ['in the middle of the file', HEAD + 'x'.repeat(200_000)],
    ['after the file', `${HEAD}abc\r\n--x\r\nContent-Disposition: form-data; name="message"\r\n\r\nhal`],
  ])('whose caller disconnects %s leaves no file', async (_, start) => {
    const before = await gateway.blobs();
    const call = request(`${gateway.url}/v1/messages/send`, {
      method: 'POST',
      headers: {
        'x-api-key': KEY,
        'content-type': 'multipart/form-data; boundary=x',
        'content-length': 1_000_000,
      },
    });
    call.on('error', () => undefined);
    call.write(start);
    await eventually('a file is being written', async () => (await gateway.blobs()).length > before.length);
    call.destroy();
    await eventually('the file is removed', async () => (await gateway.blobs()).length === before.length);
  });
});
