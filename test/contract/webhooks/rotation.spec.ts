import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { SecretCipher } from '#accounts';
import { clockOfThisMachine } from '#platform';
import { EndpointSecretManager, type SecretRotationResult } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { Receiver, type Received } from './receiver.js';
import { ACCOUNT, WebhookHarness } from './webhook-harness.js';

let server: TestRedis;
let harness: WebhookHarness;
let receiver: Receiver;
let secrets: EndpointSecretManager;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  harness = await WebhookHarness.open(server.url);
  harness.startRunner();
  receiver = await Receiver.start();
  secrets = new EndpointSecretManager(
    harness.endpointStore,
    new SecretCipher(Buffer.alloc(32, 7)),
    clockOfThisMachine,
  );
});
afterEach(async () => {
  await harness.close();
  await receiver.stop();
});

/** Returns true if both public verifiers accept a request. Fails if the verifiers disagree. */
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

/** Delivers an event and returns the received request. */
async function delivered(): Promise<Received> {
  const before = receiver.received.length;
  await harness.dispatcher.dispatch(ACCOUNT, await harness.record(1));
  await eventually('the event arrives', () => receiver.received.length > before);
  const [got] = receiver.received.slice(before);
  if (got === undefined) throw new Error('nothing came');
  return got;
}
const signaturesOf = ({ headers }: Received): number =>
  String(headers['webhook-signature']).split(' ').length;
async function rotate(id: string, overlapSeconds: number): Promise<SecretRotationResult> {
  const rotation = await secrets.rotate(ACCOUNT, id, overlapSeconds);
  if (rotation === undefined) throw new Error('there is no such endpoint');
  return rotation;
}

describe('the signature of a delivery, verified by standardwebhooks and svix,', () => {
  it('is valid for the old secret until the overlap of a rotation ends, and for the new secret from the rotation on', async () => {
    const { endpoint, secret: old } = await harness.endpoints.create(ACCOUNT, { url: receiver.url });
    const before = await delivered();
    expect([holds(old, before), signaturesOf(before)]).toEqual([true, 1]);

    const { secret: fresh, previousExpireAt } = await rotate(endpoint.id, 2);
    const end = Date.parse(previousExpireAt);
    let both = 0;
    await eventually('the old secret has expired', async () => {
      const sent = Date.now();
      const got = await delivered();
      const arrived = Date.now();
      expect(holds(fresh, got)).toBe(true);
      expect(signaturesOf(got)).toBe(holds(old, got) ? 2 : 1);
      // The attempt lies between the two times.
      if (arrived < end) expect(holds(old, got)).toBe(true);
      if (sent >= end) expect(holds(old, got)).toBe(false);
      if (holds(old, got)) both++;
      return !holds(old, got);
    });
    expect(both).toBeGreaterThan(0);
    expect(Date.now()).toBeGreaterThanOrEqual(end);

    const after = await delivered();
    expect([holds(fresh, after), holds(old, after), signaturesOf(after)]).toEqual([true, false, 1]);
    // A signature from the overlap stays valid after the overlap.
    expect(holds(old, before)).toBe(true);
  });

  it('is valid for three secrets during two overlapping rotations, and for one secret after a rotation without overlap', async () => {
    const { endpoint, secret: first } = await harness.endpoints.create(ACCOUNT, { url: receiver.url });
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

  it('is invalid if the body, the id or the timestamp is changed', async () => {
    const { secret } = await harness.endpoints.create(ACCOUNT, { url: receiver.url });
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
