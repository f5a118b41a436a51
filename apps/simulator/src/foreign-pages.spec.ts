import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunningSimulator } from './testing/running-simulator.js';
import { startSimulator } from './testing/running-simulator.js';

let running: RunningSimulator;
let host: string;

beforeAll(async () => {
  running = await startSimulator();
  host = new URL(running.url).host;
  await running.control('contacts', { count: 2 });
});
afterAll(() => running.stop());

/** Sends a request with headers that `fetch` does not allow. */
async function statusOf(method: string, path: string, headers: Record<string, string>): Promise<number> {
  const sent = request(`${running.url}/_simulator/${path}`, { method, headers });
  sent.end();
  const [reply] = (await once(sent, 'response')) as [{ statusCode: number; resume: () => void }];
  reply.resume();
  return reply.statusCode;
}

const contactCount = (): number => running.simulator.core.world.contacts.listed().length;

describe('a web page of another site', () => {
  it.each([
    ['whose browser names the site', { 'sec-fetch-site': 'cross-site' }],
    ['on another port of the machine', { 'sec-fetch-site': 'same-site' }],
    ['whose browser sends only the origin', { origin: 'https://evil.example' }],
    ['in a frame without an origin', { origin: 'null' }],
  ])('cannot use the control API (%s)', async (_, headers) => {
    expect(await statusOf('POST', 'reset', headers)).toBe(403);
    expect(contactCount()).toBe(2);
  });

  it('whose host name was made to resolve to the simulator (DNS rebinding) can read nothing', async () => {
    const headers = { host: 'evil.example:4010', 'sec-fetch-site': 'same-origin' };
    expect(await statusOf('GET', 'phone/contacts', headers)).toBe(403);
    expect(await statusOf('GET', 'state', headers)).toBe(403);
  });
});

it('the page of the simulator and programs can use the control API, by an IP address or a local name', async () => {
  const port = host.split(':')[1] ?? '';
  const names = ['127.0.0.1', '[::1]', 'localhost', 'simulator', 'host.docker.internal', 'my-machine.local'];
  for (const name of names) {
    const at = `${name}:${port}`;
    expect(await statusOf('GET', 'phone/contacts', { host: at })).toBe(200);
    expect(await statusOf('GET', 'state', { host: at, origin: `http://${at}` })).toBe(200);
    expect(await statusOf('GET', 'state', { host: at, 'sec-fetch-site': 'same-origin' })).toBe(200);
  }
  expect(await statusOf('GET', 'state', { 'sec-fetch-site': 'none' })).toBe(200);
});
