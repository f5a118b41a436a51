import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { SecretBox } from '#accounts';
import { systemClock } from '#platform';
import { EndpointSecrets, type Rotation } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { Receiver, type Received } from './receiver.js';
import { ACCOUNT, Street } from './street.js';

let server: TestRedis;
let street: Street;
let receiver: Receiver;
let secrets: EndpointSecrets;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  street = await Street.open(server.url);
  street.pump();
  receiver = await Receiver.start();
  secrets = new EndpointSecrets(street.endpointStore, new SecretBox(Buffer.alloc(32, 7)), systemClock);
});
afterEach(async () => {
  await street.close();
  await receiver.stop();
});

/** Whether the two public verifiers accept what was sent; they must agree. */
function holds(secret: string, { headers, body }: Received): boolean {
  const verdicts = [StandardWebhook, SvixWebhook].map((Verifier) => {
    try {
      expect(new Verifier(secret).verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
      return true;
    } catch (error) {
      expect(String(error)).toMatch(/No matching signature/);
      return false;
    }
  });
  expect(new Set(verdicts).size).toBe(1);
  return verdicts[0] === true;
}

/** Has an event delivered and returns what came. */
async function delivered(): Promise<Received> {
  const before = receiver.received.length;
  await street.dispatcher.dispatch(ACCOUNT, await street.record(1));
  await eventually('the event arrives', () => receiver.received.length > before);
  const [got] = receiver.received.slice(before);
  if (got === undefined) throw new Error('nothing came');
  return got;
}
const signaturesOf = ({ headers }: Received): number =>
  String(headers['webhook-signature']).split(' ').length;
async function rotate(id: string, overlapSeconds: number): Promise<Rotation> {
  const rotation = await secrets.rotate(ACCOUNT, id, overlapSeconds);
  if (rotation === undefined) throw new Error('there is no such endpoint');
  return rotation;
}

describe('what standardwebhooks and svix say to the signatures', () => {
  it('before, in and after a rotation: each of the secrets that are valid then holds, and no other', async () => {
    const { endpoint, secret: old } = await street.endpoints.create(ACCOUNT, { url: receiver.url });
    const before = await delivered();
    expect([holds(old, before), signaturesOf(before)]).toEqual([true, 1]);

    const { secret: fresh, previousExpireAt } = await rotate(endpoint.id, 2);
    const end = Date.parse(previousExpireAt);
    let both = 0;
    await eventually('the old secret ends', async () => {
      const sent = Date.now();
      const got = await delivered();
      const arrived = Date.now();
      expect(holds(fresh, got)).toBe(true);
      expect(signaturesOf(got)).toBe(holds(old, got) ? 2 : 1);
      // By the moment of its attempt, which lies between the two.
      if (arrived < end) expect(holds(old, got)).toBe(true);
      if (sent >= end) expect(holds(old, got)).toBe(false);
      if (holds(old, got)) both++;
      return !holds(old, got);
    });
    expect(both).toBeGreaterThan(0);
    expect(Date.now()).toBeGreaterThanOrEqual(end);

    const after = await delivered();
    expect([holds(fresh, after), holds(old, after), signaturesOf(after)]).toEqual([true, false, 1]);
    // What was sent in the overlap was signed for good.
    expect(holds(old, before)).toBe(true);
  });

  it('to a rotation within a rotation: three hold, then as many as are left', async () => {
    const { endpoint, secret: first } = await street.endpoints.create(ACCOUNT, { url: receiver.url });
    const { secret: second } = await rotate(endpoint.id, 60);
    const { secret: third } = await rotate(endpoint.id, 60);
    const overlapping = await delivered();
    expect([first, second, third].map((secret) => holds(secret, overlapping))).toEqual([true, true, true]);
    const { secret: fourth } = await rotate(endpoint.id, 0);
    const alone = await delivered();
    expect([first, second, third, fourth].map((secret) => holds(secret, alone))).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect(await secrets.find(ACCOUNT, endpoint.id)).toBe(fourth);
  });

  it('to another body, id or time: refused', async () => {
    const { secret } = await street.endpoints.create(ACCOUNT, { url: receiver.url });
    const got = await delivered();
    const forged = (headers: object, body = got.body): Received => ({
      ...got,
      headers: { ...got.headers, ...headers },
      body,
    });
    expect(holds(secret, got)).toBe(true);
    expect(holds(secret, forged({}, got.body.replace('"sequence":1', '"sequence":2')))).toBe(false);
    expect(holds(secret, forged({ 'webhook-id': 'evt_other' }))).toBe(false);
    const later = String(Number(got.headers['webhook-timestamp']) + 1);
    expect(holds(secret, forged({ 'webhook-timestamp': later }))).toBe(false);
  });
});
