import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, type Logger } from '#platform';
import {
  BlobStoreUnavailableError,
  LaneRunner,
  type RelayJobs,
  RelayRounds,
  type RelaySettings,
  type Send,
  SendNotResolvableError,
  StoredSendIntake,
} from '#relay';
import { RedisMemory } from '../../support/redis-memory.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { A, House, UPSTREAM_TIMEOUT_MS } from '../feed/house.js';
import { eventually } from '../../support/eventually.js';

const NUMBER = '+15551234567';
const text = { phoneNumber: NUMBER, type: 'text', message: 'Hi' };
const SETTINGS: RelaySettings = {
  retryScheduleSeconds: [0.02],
  safeStatuses: [429],
  maxAgeMs: 60_000,
  confirmMs: 800,
  confirmMediaMs: 800,
  onUnknown: 'hold',
  postTimeoutMs: UPSTREAM_TIMEOUT_MS,
};

let server: TestRedis;
let house: House;
let intake: StoredSendIntake;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(async () => {
  house = await House.open(server.url);
  intake = new StoredSendIntake(house.sends, house.idempotencyKeys, JOBS);
});
afterEach(async () => {
  await house.close();
});

/** Hints are lost here: what is due is found in the store. */
const JOBS: RelayJobs = { wake: () => Promise.resolve() };

function runner(
  settings: Partial<RelaySettings> = {},
  logger: Logger = house.logger,
  jobs = JOBS,
): LaneRunner {
  const sender = {
    admit: () => Promise.resolve(),
    isHeld: () => Promise.resolve(false),
    post: (_: string, send: Parameters<House['upstream']['send']>[1], beginBy: number) =>
      house.upstream.send(house.address, send, beginBy),
  };
  const all = { ...SETTINGS, ...settings };
  return new LaneRunner(house.sends, sender, house.lookup, house.blobs, jobs, all, logger, () => 0);
}
const rounds = (settings: Partial<RelaySettings> = {}, jobs = JOBS): RelayRounds =>
  new RelayRounds(house.sends, house.lookup, house.blobs, jobs, { ...SETTINGS, ...settings });

async function accept(request: Parameters<StoredSendIntake['accept']>[1] = text): Promise<string> {
  return (await intake.accept(A, request)).id;
}
async function find(id: string): Promise<Send> {
  const send = await intake.find(A, id);
  if (send === undefined) throw new Error('no such send');
  return send;
}
/** Runs the lane again and again until the send stands so. */
async function relayUntil(id: string, status: Send['status'], by = runner()): Promise<Send> {
  await eventually(`the send is ${status}`, async () => {
    await by.run(A, NUMBER);
    return (await find(id)).status === status;
  });
  return find(id);
}
const strike = (fault: unknown, times: number | 'always' = 1): object =>
  house.control('faults', { match: { method: 'POST' }, fault, times });
const memory = (): Promise<RedisMemory> => RedisMemory.of(house.redis, house.prefix);

/** A runner as in a process of its own, and how many warnings it gave that Redis lives another life. */
function told(): { runner: LaneRunner; lives: () => number } {
  const lines: string[] = [];
  const logger = createLogger('test', 'warn', { write: (line: string) => lines.push(line) });
  const lives = (): number => lines.filter((line) => line.includes('Redis lives another life')).length;
  return { runner: runner({}, logger), lives };
}

/** The texts that the recipient got, in order. */
const texts = (): (string | null)[] =>
  house.simulator.ledger
    .read({ kinds: ['send.accepted'] })
    .entries.map((entry) => (entry.kind === 'send.accepted' ? entry.message : null));
const posts = (): number => house.requests(/^POST /);
const sendEvents = async (): Promise<string[]> =>
  (await house.types()).filter((type) => type.startsWith('send.'));

async function upload(
  content = 'picture',
): Promise<{ blobId: string; name: string; contentType: string; size: number; sha256: string }> {
  const blob = await house.blobs.put(A, Readable.from([Buffer.from(content)]), 1_000_000);
  return { blobId: blob.id, name: 'a.png', contentType: 'image/png', size: blob.size, sha256: blob.sha256 };
}

it('says of a lane whether there was anything in it', async () => {
  expect(await runner().run(A, NUMBER)).toBe(false);
  await intake.accept(A, { ...text, sendAt: Date.now() + 60_000 });
  expect(await runner().run(A, NUMBER)).toBe(false);
  await accept();
  expect(await runner().run(A, NUMBER)).toBe(true);
});

describe('a send', () => {
  it('is relayed once, accepted, and then sent, delivered and read as its message shows', async () => {
    const id = await accept();
    expect(await relayUntil(id, 'accepted')).toMatchObject({
      attempts: [{ outcome: 'accepted', httpStatus: 200 }],
    });
    await house.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    const { messageId, contactId } = await find(id);
    expect(house.simulator.ledger.read({ kinds: ['send.accepted'] }).entries).toMatchObject([
      { messageIds: [messageId], contactId },
    ]);
    house.control('messages/flags', { id: messageId, delivered: true });
    await house.sweepUntil('delivered', async () => (await find(id)).status === 'delivered');
    house.control('messages/flags', { id: messageId, read: true });
    await house.sweepUntil('read', async () => (await find(id)).status === 'read');
    expect(await sendEvents()).toEqual(['send.accepted', 'send.sent']);
    const told = (await house.told()).filter(({ type }) => type.startsWith('message.'));
    expect(told.map(({ type, data }) => [type, data['sendId']])).toEqual([
      ['message.sent', id],
      ['message.delivered', id],
      ['message.read', id],
    ]);
    expect(texts()).toEqual(['Hi']);
  });

  it('whose POST Redis has forgotten is found upstream, and not posted again', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.loseAllSince(server);
    expect(await find(id)).toMatchObject({ status: 'queued' });
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
  });

  it('whose POST Redis has forgotten is bound by a poll that is faster than its lane', async () => {
    const id = await accept();
    const before = await memory();
    await relayUntil(id, 'accepted');
    await before.loseAllSince(server);
    await house.sweep();
    expect(await find(id)).toMatchObject({ status: 'sent' });
    await runner().run(A, NUMBER);
    expect(texts()).toEqual(['Hi']);
  });

  it('that waited while Redis began another life is looked for, and then goes out, once', async () => {
    const [one, two] = [await accept({ ...text, message: 'n0' }), await accept({ ...text, message: 'n1' })];
    await (await memory()).loseAllSince(server);
    await runner().run(A, NUMBER);
    expect(posts()).toBe(0);
    await relayUntil(one, 'accepted');
    await relayUntil(two, 'accepted');
    expect(texts()).toEqual(['n0', 'n1']);
  });

  it('that was about to be posted when Redis began another life is looked for first', async () => {
    const id = await accept();
    const before = await memory();
    const stale = await house.sends.head(A, NUMBER);
    await relayUntil(id, 'accepted');
    await before.loseAllSince(server);
    // Whoever read it in the life before must not go on as if nothing had happened.
    const { record } = stale ?? {};
    if (record === undefined) throw new Error('the lane is empty');
    const posting = { ...record.state, phase: 'posting' } as const;
    const fence = { happening: 'fenced', state: posting, life: 'same' } as const;
    expect(await house.sends.transit(A, record, fence)).toBeUndefined();
  });

  it('that waited while Redis began another life has that told of: one warning a process and life, not one a send', async () => {
    const [first, second] = [told(), told()];
    const ids = [await accept({ ...text, message: 'n0' }), await accept({ ...text, message: 'n1' })];
    await (await memory()).loseAllSince(server);
    await relayUntil(ids[0] ?? '', 'relaying', first.runner);
    await relayUntil(ids[1] ?? '', 'relaying', second.runner);
    await relayUntil(ids[1] ?? '', 'accepted', first.runner);
    expect([first.lives(), second.lives()]).toEqual([1, 1]);
  });

  it('that is the first one of another life of Redis has that told of, though nothing was unfinished', async () => {
    const { runner: one, lives } = told();
    await relayUntil(await accept(), 'accepted', one);
    expect(lives()).toBe(0);
    for (let life = 1; life <= 2; life += 1) {
      await (await memory()).loseAllSince(server);
      await relayUntil(await accept(), 'accepted', one);
      await relayUntil(await accept(), 'accepted', one);
      expect(lives()).toBe(life);
    }
  });

  it('costs one request beyond the polls that happen anyway: its POST', async () => {
    const [contactId, other] = [house.contact(NUMBER), house.contact('+15559990000')];
    await house.sweep();
    const costOf = async (work: () => Promise<unknown>): Promise<number> => {
      const before = house.requests(/^/);
      await work();
      return house.requests(/^/) - before;
    };
    const id = await accept();
    expect(await costOf(() => relayUntil(id, 'accepted'))).toBe(1);
    // The poll that binds it reads no more than one that finds the same message of another hand.
    house.messages(other, { direction: 'outbound', text: 'Hi' });
    const ordinary = await costOf(() => house.polls.poll(A, other));
    expect(await costOf(() => house.polls.poll(A, contactId))).toBe(ordinary);
    expect((await find(id)).status).toBe('sent');
    expect(posts()).toBe(1);
  });

  it('that comes in a row is relayed in its turn', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push(await accept({ ...text, message: `n${i}` }));
    await Promise.all([runner().run(A, NUMBER), runner().run(A, NUMBER), runner().run(A, NUMBER)]);
    await relayUntil(ids[4] ?? '', 'accepted');
    expect(texts()).toEqual(['n0', 'n1', 'n2', 'n3', 'n4']);
  });

  it('that is alike another is another: two texts, bound in order', async () => {
    const [one, two] = [await accept(), await accept()];
    await relayUntil(two, 'accepted');
    await house.sweepUntil(
      'both sent',
      async () => (await find(one)).status === 'sent' && (await find(two)).status === 'sent',
    );
    const entries = house.simulator.ledger.read({ kinds: ['send.accepted'] }).entries;
    expect(entries).toMatchObject([
      { messageIds: [(await find(one)).messageId] },
      { messageIds: [(await find(two)).messageId] },
    ]);
  });

  it('takes no old identical text for itself', async () => {
    const contactId = house.contact(NUMBER);
    house.messages(contactId, { direction: 'outbound', text: 'Hi', timestamp: Date.now() - 3_600_000 });
    house.control('settings', { sendLostProbability: 1 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    await house.sweep();
    expect(await find(id)).toMatchObject({ status: 'accepted', messageId: null });
  });

  it.each([600_000, -600_000])('is bound though upstream’s clock is %d ms off', async (clockSkewMs) => {
    house.control('settings', { clockSkewMs });
    const id = await accept();
    await relayUntil(id, 'accepted');
    await house.sweepUntil('sent', async () => (await find(id)).status === 'sent');
  });

  it('with a file alone is bound though the message shows up before its attachment', async () => {
    house.control('settings', { attachmentDelayMs: 1_500 });
    const id = await accept({ phoneNumber: NUMBER, type: 'text', file: await upload() });
    await relayUntil(id, 'accepted');
    await house.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(await house.types()).toContain('message.updated');
  });

  it('is bound though its text and file are shown as two, with quotes rewritten', async () => {
    house.control('settings', { splitTextAndFile: true, rewriteQuotes: true });
    const id = await accept({ ...text, message: `"Don't" -- Cafe\u0301...`, file: await upload() });
    await relayUntil(id, 'accepted');
    await house.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    const { contactId, messageId } = await find(id);
    await expect(house.sends.claims(A, contactId ?? '', [messageId ?? ''])).resolves.toEqual(
      new Map([[messageId, { sendId: id }]]),
    );
  });

  it('hands its file over and keeps it no longer', async () => {
    const file = await upload();
    const id = await accept({ phoneNumber: NUMBER, type: 'text', file });
    await relayUntil(id, 'accepted');
    const [entry] = house.simulator.ledger.read({ kinds: ['send.accepted'] }).entries;
    expect(entry).toMatchObject({
      parts: expect.arrayContaining([expect.objectContaining({ sha256: file.sha256 })]),
    });
    await expect(house.blobs.open(file.blobId)).rejects.toThrow();
    await house.sweepUntil('sent', async () => (await find(id)).status === 'sent');
  });

  it('whose file is gone fails, says so, and was never posted', async () => {
    const file = await upload();
    await house.blobs.remove(file.blobId);
    const id = await accept({ ...text, file });
    const next = await accept();
    expect((await relayUntil(id, 'failed')).reason).toContain(file.blobId);
    await relayUntil(next, 'accepted');
    expect(texts()).toEqual(['Hi']);
    expect(await sendEvents()).toEqual(['send.failed', 'send.accepted']);
  });

  it('that is not relayed in time expires, and the lane goes on', async () => {
    const expiresAt = Date.now() + 1;
    const id = await accept({ ...text, message: 'late', expiresAt });
    const next = await accept();
    await eventually('its time is over', () => Date.now() > expiresAt + 1);
    expect((await relayUntil(id, 'expired')).reason).toContain('expiresAt');
    await relayUntil(next, 'accepted');
    expect(texts()).toEqual(['Hi']);
    const old = await accept();
    expect((await relayUntil(old, 'expired', runner({ maxAgeMs: 0 }))).reason).toContain(
      'SEND_MAX_AGE_SECONDS',
    );
  });

  it('for later is moved to its lane in its time, not before', async () => {
    const sendAt = Date.now() + 300;
    const id = await accept({ ...text, sendAt });
    const woken: string[] = [];
    const waking = rounds({}, { wake: (_, lanes) => Promise.resolve(void woken.push(...lanes)) });
    await eventually('promoted', async () => {
      await waking.promote(A);
      return (await find(id)).status === 'queued';
    });
    expect(Date.now()).toBeGreaterThanOrEqual(sendAt);
    expect(woken).toEqual([NUMBER]);
    await relayUntil(id, 'accepted');
    await waking.promote(A);
    expect(texts()).toEqual(['Hi']);
  });

  it('whose hint was lost is found by the reconciler', async () => {
    await accept();
    const woken: string[] = [];
    await rounds({}, { wake: (_, lanes) => Promise.resolve(void woken.push(...lanes)) }).reconcile(A);
    expect(woken).toEqual([NUMBER]);
  });
});

describe('a send that upstream surely did not take', () => {
  it('is tried again on the schedule until it is taken', async () => {
    strike({ kind: 'status', status: 429 }, 3);
    const id = await accept();
    const send = await relayUntil(id, 'accepted');
    expect(send.attempts.map(({ outcome, httpStatus }) => `${outcome} ${httpStatus ?? ''}`)).toEqual([
      'not_taken 429',
      'not_taken 429',
      'not_taken 429',
      'accepted 200',
    ]);
    expect(texts()).toEqual(['Hi']);
  });

  it('is not tried again sooner than upstream asked', async () => {
    strike({ kind: 'status', status: 429, retryAfter: 1 });
    const began = Date.now();
    const id = await accept();
    await relayUntil(id, 'accepted');
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_000);
    expect(posts()).toBe(2);
  });

  it('for want of a connection is kept, and relayed when it comes', async () => {
    const id = await accept();
    const real = house.address.baseUrl;
    house.address.baseUrl = 'http://127.0.0.1:1/v1';
    const lane = runner();
    await eventually('tried twice', async () => {
      await lane.run(A, NUMBER);
      return (await find(id)).attempts.length >= 2;
    });
    expect(await find(id)).toMatchObject({ status: 'queued', attempts: [{ outcome: 'not_taken' }, {}] });
    house.address.baseUrl = real;
    await relayUntil(id, 'accepted', lane);
    expect(texts()).toEqual(['Hi']);
  });

  it('holds nobody but its own lane', async () => {
    strike({ kind: 'status', status: 429, retryAfter: 60 });
    const id = await accept();
    await runner().run(A, NUMBER);
    const other = await accept({ ...text, phoneNumber: '+15550000009' });
    await runner().run(A, '+15550000009');
    expect((await find(other)).status).toBe('accepted');
    expect((await find(id)).status).toBe('queued');
  });
});

describe('a send whose file cannot be read just now', () => {
  it('waits for the blob store, and goes out once it is back', async () => {
    const file = await upload();
    const id = await accept({ ...text, file });
    const open = house.blobs.open.bind(house.blobs);
    house.blobs.open = () => Promise.reject(new BlobStoreUnavailableError('it is being moved'));
    await eventually('tried', async () => {
      await runner().run(A, NUMBER);
      return (await find(id)).attempts.length > 1;
    });
    expect(await find(id)).toMatchObject({
      status: 'queued',
      attempts: expect.arrayContaining([
        expect.objectContaining({
          outcome: 'not_taken',
          error: 'The blob store cannot be used: it is being moved',
        }),
      ]),
    });
    expect(posts()).toBe(0);
    house.blobs.open = open;
    await relayUntil(id, 'accepted');
    expect(texts()).toEqual(['Hi']);
  });
});

describe('a send that upstream refuses', () => {
  it.each([400, 403, 404, 413, 415, 422])(
    'with %d fails with its words, and the lane goes on',
    async (status) => {
      strike({ kind: 'status', status, body: { message: 'not this one' } });
      const file = await upload();
      const [id, next] = [await accept({ ...text, message: 'refused', file }), await accept()];
      expect(await relayUntil(id, 'failed')).toMatchObject({
        reason: `upstream answered ${status}: not this one`,
        attempts: [{ outcome: 'refused', httpStatus: status }],
      });
      await relayUntil(next, 'accepted');
      expect(texts()).toEqual(['Hi']);
      expect(await sendEvents()).toEqual(['send.failed', 'send.accepted']);
      (await house.blobs.open(file.blobId)).destroy();
    },
  );
});

describe('a send whose POST ended without a clear answer', () => {
  it.each([
    { kind: 'statusAfter', status: 500 },
    { kind: 'timeoutAfter' },
    { kind: 'resetAfter' },
    { kind: 'html', processed: true },
    { kind: 'emptyObject', processed: true },
    { kind: 'errorBody200', processed: true },
    { kind: 'truncatedJson', cut: 'body' },
    { kind: 'truncatedJson', cut: 'connection' },
    { kind: 'status', status: 302, location: 'http://127.0.0.1:1/', processed: true },
    { kind: 'slow', delayMs: 2 * UPSTREAM_TIMEOUT_MS },
  ])('but was taken is found, and not posted again: %j', async (fault) => {
    strike(fault);
    const id = await accept();
    const next = await accept({ ...text, message: 'next' });
    const send = await relayUntil(id, 'sent');
    expect(send.attempts).toMatchObject([{ outcome: 'ambiguous' }]);
    expect(send.messageId).not.toBeNull();
    await relayUntil(next, 'accepted');
    expect(texts()).toEqual(['Hi', 'next']);
    expect(posts()).toBe(2);
    expect(await sendEvents()).toEqual(['send.sent', 'send.accepted']);
  });

  it.each([
    { kind: 'timeoutBefore' },
    { kind: 'resetBefore' },
    { kind: 'status', status: 503 },
    { kind: 'html' },
  ])(
    'and was not taken is unknown when the time is over, never posted again, and the lane goes on: %j',
    async (fault) => {
      strike(fault);
      const id = await accept();
      const next = await accept({ ...text, message: 'next' });
      const send = await relayUntil(id, 'unknown');
      expect(send.reason).not.toBeNull();
      await relayUntil(next, 'accepted');
      expect(texts()).toEqual(['next']);
      expect(posts()).toBe(2);
      expect(await sendEvents()).toEqual(['send.unknown', 'send.accepted']);
    },
  );

  it('is not given up for the time in which looks failed: it does not count', async () => {
    strike({ kind: 'resetBefore' });
    const id = await accept();
    house.control('faults', { match: { method: 'GET' }, fault: 'status', times: 'always' });
    // Two looks fail within 1.5 s, and the third, the first good one, comes 2 s later.
    const lane = runner({ confirmMs: 2_800 });
    const looked = (times: number): Promise<boolean> =>
      eventually(`looked ${times} times`, async () => {
        await lane.run(A, NUMBER);
        return house.requests(/^GET /) >= times;
      });
    await looked(2);
    house.control('faults/clear');
    await looked(3);
    expect((await find(id)).status).toBe('relaying');
    expect(posts()).toBe(1);
  });

  it.each([
    ['when the time that is left is over, if it can be looked for', undefined, 3_000],
    ['after the growing wait, if it cannot', { kind: 'status', status: 404 }, 15_000],
  ])('is looked for again %s', async (_, trouble, mostMs) => {
    strike({ kind: 'resetBefore' });
    const id = await accept();
    await runner().run(A, NUMBER);
    const record = await house.sends.find(A, id);
    if (record === undefined) throw new Error('no send');
    await house.sends.transit(A, record, {
      happening: 'looked',
      state: {
        ...record.state,
        looks: 7,
        lookLeftMs: 3_000,
        lookedAt: await house.sends.now(A),
        notBefore: 0,
      },
      laneDueInMs: 0,
    });
    if (trouble !== undefined)
      house.control('faults', { match: { method: 'GET' }, fault: trouble, times: 1 });
    const waits: number[] = [];
    const jobs: RelayJobs = {
      wake: (_account, _lanes, delayMs = 0) => {
        waits.push(delayMs);
        return Promise.resolve();
      },
    };
    await runner({}, house.logger, jobs).run(A, NUMBER);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeLessThanOrEqual(mostMs);
    expect(waits[0]).toBeGreaterThan(mostMs / 2);
  });

  it('and is found after it was given up is sent after all', async () => {
    house.control('settings', { sendVisibleDelayMs: 1_500 });
    strike({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    await house.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(await sendEvents()).toEqual(['send.unknown', 'send.sent']);
    expect(texts()).toEqual(['Hi']);
  });

  it('is posted again when that was asked for', async () => {
    strike({ kind: 'resetBefore' });
    const id = await accept();
    const send = await relayUntil(id, 'accepted', runner({ onUnknown: 'resend', confirmMs: 1 }));
    expect(send.attempts.map(({ outcome }) => outcome)).toEqual(['ambiguous', 'accepted']);
    expect(texts()).toEqual(['Hi']);
    expect(posts()).toBe(2);
    expect((await sendEvents()).filter((type) => type === 'send.unknown')).toEqual([]);
  });

  it('is looked for, and not posted again, when its process died in the middle', async () => {
    const id = await accept();
    const head = await house.sends.head(A, NUMBER);
    if (head === undefined) throw new Error('no head');
    // What a process leaves that dies after its POST: the state as it was before, its lease running out.
    const begun = await house.sends.transit(A, head.record, {
      happening: 'fenced',
      state: { ...head.record.state, phase: 'posting', begunAt: head.now, notBefore: head.now + 200 },
      laneDueInMs: 200,
    });
    expect(begun).toBeDefined();
    await house.upstream.send(house.address, text);
    await relayUntil(id, 'sent');
    expect(texts()).toEqual(['Hi']);
    expect(posts()).toBe(1);
  });

  it('is unknown, and not posted again, when its process died before the POST', async () => {
    const id = await accept();
    const head = await house.sends.head(A, NUMBER);
    if (head === undefined) throw new Error('no head');
    await house.sends.transit(A, head.record, {
      happening: 'fenced',
      state: { ...head.record.state, phase: 'posting', begunAt: head.now, notBefore: head.now + 1 },
    });
    await relayUntil(id, 'unknown');
    expect(posts()).toBe(0);
  });

  it('is settled by its own late answer, though others look for it already', async () => {
    house.control('settings', { sendLostProbability: 1 });
    const id = await accept();
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    let posting = false;
    const slow = new LaneRunner(
      house.sends,
      {
        admit: () => Promise.resolve(),
        isHeld: () => Promise.resolve(false),
        post: async (_, send) => {
          posting = true;
          await house.upstream.send(house.address, send);
          await held;
        },
      },
      house.lookup,
      house.blobs,
      JOBS,
      SETTINGS,
      house.logger,
    );
    const run = slow.run(A, NUMBER);
    await eventually('posting', () => posting);
    const record = await house.sends.find(A, id);
    if (record === undefined) throw new Error('no send');
    // As another process does once the lease is over.
    await house.sends.transit(A, record, {
      happening: 'abandoned',
      state: { ...record.state, phase: 'looking', lookLeftMs: 60_000, looks: 0, notBefore: 0 },
    });
    answer();
    await run;
    expect(await find(id)).toMatchObject({ status: 'accepted', attempts: [{ outcome: 'accepted' }] });
    expect(await house.sends.head(A, NUMBER)).toBeUndefined();
    expect(await sendEvents()).toEqual(['send.accepted']);
  });
});

describe('a send that is told to go out again', () => {
  const resolve = (id: string, outcome: 'resend' | 'sent' | 'failed'): Promise<Send | undefined> =>
    intake.resolve(A, id, outcome);
  const ours = async (): Promise<[unknown, unknown][]> =>
    (await house.told())
      .filter(({ type }) => type === 'message.sent')
      .map(({ data }) => [data['sendId'], data['duplicate']]);

  it('is looked for first, and not posted if it is there', async () => {
    house.control('settings', { sendVisibleDelayMs: 1_000 });
    strike({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    const posted = Date.now();
    await eventually('upstream shows it', () => Date.now() > posted + 1_100);
    expect(await resolve(id, 'resend')).toMatchObject({ status: 'queued' });
    await relayUntil(id, 'sent');
    await eventually('the lane is empty', async () => (await house.sends.head(A, NUMBER)) === undefined);
    expect(texts()).toEqual(['Hi']);
    expect(await sendEvents()).toEqual(['send.unknown', 'send.sent']);
    expect(await house.sends.awaiting(A, NUMBER, 10)).toEqual([]);
  });

  it('is posted at the tail of its lane if it is not there', async () => {
    strike({ kind: 'resetBefore' });
    const id = await accept();
    await relayUntil(id, 'unknown');
    await accept({ ...text, message: 'next' });
    await resolve(id, 'resend');
    const send = await relayUntil(id, 'accepted');
    expect(texts()).toEqual(['next', 'Hi']);
    expect(send.attempts.map(({ outcome }) => outcome)).toEqual(['ambiguous', 'accepted']);
  });

  it('and whose first copy surfaces after all is told as two messages of one send, the second a duplicate', async () => {
    house.control('settings', { sendVisibleDelayMs: 2_500 });
    strike({ kind: 'resetAfter' });
    const id = await accept();
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    house.control('settings', { sendVisibleDelayMs: 0 });
    await resolve(id, 'resend');
    await relayUntil(id, 'accepted');
    // An identical one of its own is not taken for that.
    const other = await accept();
    await relayUntil(other, 'accepted');
    await house.sweepUntil('three are told', async () => (await ours()).length === 3);
    expect(texts()).toEqual(['Hi', 'Hi', 'Hi']);
    const told = await ours();
    expect(told.filter(([, duplicate]) => duplicate === true)).toEqual([[id, true]]);
    expect(told.map(([sendId]) => sendId).sort()).toEqual([id, id, other].sort());
    expect((await sendEvents()).filter((type) => type === 'send.sent')).toHaveLength(2);
    const [first, second] = house.simulator.ledger
      .read({ kinds: ['send.accepted'] })
      .entries.map((entry) => (entry.kind === 'send.accepted' ? entry.messageIds[0] : ''));
    // Its flags are told with the send that it is, and are not the send's own.
    const { messageId } = await find(id);
    const duplicate = messageId === first ? second : first;
    house.control('messages/flags', { id: duplicate, delivered: true });
    await house.sweepUntil('delivered', async () => (await house.types()).includes('message.delivered'));
    const flagged = (await house.told()).find(({ type }) => type === 'message.delivered');
    expect(flagged?.data).toMatchObject({ sendId: id, duplicate: true });
    expect((await find(id)).status).toBe('sent');
    expect(await house.sends.awaiting(A, NUMBER, 10)).toEqual([]);
    await rounds().trim(A, { maxAgeMs: -10_000, maxCount: 0 });
    expect(
      (await house.redis.keys(`${house.prefix}:*`)).filter((key) => /claims|awaiting/.test(key)),
    ).toEqual([]);
  });

  it('after upstream refused it is posted again', async () => {
    strike({ kind: 'status', status: 400 });
    const id = await accept();
    await relayUntil(id, 'failed');
    await resolve(id, 'resend');
    await relayUntil(id, 'accepted');
    expect(texts()).toEqual(['Hi']);
    expect(await house.sends.awaiting(A, NUMBER, 10)).toHaveLength(1);
  });

  it('expires by the time at which that was said, not by its own age', async () => {
    strike({ kind: 'resetBefore' });
    const id = await accept();
    await relayUntil(id, 'unknown');
    await resolve(id, 'resend');
    await relayUntil(id, 'accepted', runner({ maxAgeMs: 2_000 }));
  });

  it('by itself does so once, and is unknown when that is ambiguous too', async () => {
    strike({ kind: 'resetBefore' }, 'always');
    const id = await accept();
    const send = await relayUntil(id, 'unknown', runner({ onUnknown: 'resend', confirmMs: 1 }));
    expect(send.attempts).toHaveLength(2);
    expect(posts()).toBe(2);
    expect(await sendEvents()).toEqual(['send.unknown']);
  });
});

describe('an unknown send', () => {
  it.each(['sent', 'failed'] as const)(
    'is %s when somebody says so, and its message is still known for ours',
    async (outcome) => {
      house.control('settings', { sendVisibleDelayMs: 1_500 });
      strike({ kind: 'resetAfter' });
      const id = await accept();
      await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
      expect(await intake.resolve(A, id, outcome)).toMatchObject({ status: outcome, messageId: null });
      await house.sweepUntil('bound', async () => (await find(id)).messageId !== null);
      expect((await find(id)).status).toBe(outcome);
      expect(await sendEvents()).toEqual(['send.unknown', `send.${outcome}`]);
      await expect(intake.resolve(A, id, 'resend')).rejects.toThrow(SendNotResolvableError);
    },
  );

  it('cannot go out again after its expiresAt, and no other send is resolved', async () => {
    strike({ kind: 'resetBefore' });
    const expiresAt = Date.now() + 1_500;
    const id = await accept({ ...text, expiresAt });
    await relayUntil(id, 'unknown', runner({ confirmMs: 1 }));
    await eventually('its time is over', () => Date.now() > expiresAt);
    await expect(intake.resolve(A, id, 'resend')).rejects.toThrow(/expiresAt/);
    const queued = await accept();
    for (const outcome of ['resend', 'sent', 'failed'] as const)
      await expect(intake.resolve(A, queued, outcome)).rejects.toThrow(SendNotResolvableError);
    expect(await intake.resolve(A, 'snd_none', 'sent')).toBeUndefined();
  });
});

describe('a sighting that does not come', () => {
  it('is asked for again, and told of once when the time is over; a later one still binds', async () => {
    house.control('settings', { sendVisibleDelayMs: 2_500 });
    const id = await accept();
    await relayUntil(id, 'accepted');
    const confirming = rounds({ confirmMs: 1_200 });
    await eventually('told', async () => {
      await confirming.confirm(A);
      return (await sendEvents()).includes('send.unconfirmed');
    });
    expect((await find(id)).status).toBe('accepted');
    for (let i = 0; i < 5; i += 1) await confirming.confirm(A);
    await house.sweepUntil('sent', async () => (await find(id)).status === 'sent');
    expect(await sendEvents()).toEqual(['send.accepted', 'send.unconfirmed', 'send.sent']);
  });

  it('hastens the poll of the contact, whose first send may be what made it one', async () => {
    const id = await accept();
    await relayUntil(id, 'accepted');
    // The recipient is not known yet: the list is wished for, once however many ask.
    expect([await house.store.takeListWish(A), await house.store.takeListWish(A)]).toEqual([true, false]);
    await house.list.poll(A);
    const [contactId] = (await house.store.knownContacts(A)).contacts.keys();
    expect(await house.store.contactOf(A, NUMBER)).toBe(contactId);
    await eventually('due', async () =>
      (await house.store.claimDue(A, 10, 60_000)).includes(contactId ?? ''),
    );
    await house.polls.poll(A, contactId ?? '');
    expect((await find(id)).status).toBe('sent');
  });
});

describe('retention of sends', () => {
  it('takes their files along', async () => {
    strike({ kind: 'status', status: 400 });
    const file = await upload();
    const id = await accept({ ...text, file });
    await relayUntil(id, 'failed');
    await rounds().trim(A, { maxAgeMs: -10_000, maxCount: 0 });
    expect(await intake.find(A, id)).toBeUndefined();
    await expect(house.blobs.open(file.blobId)).rejects.toThrow();
  });
});

describe('faults of every kind at once', () => {
  it('text nobody twice, and end every send', async () => {
    const kinds = [
      'timeoutAfter',
      'resetBefore',
      'resetAfter',
      'html',
      { kind: 'statusAfter', status: 500 },
      { kind: 'status', status: 429 },
    ];
    house.control(
      'faults',
      kinds.map((fault) => ({ match: { method: 'POST' }, fault, probability: 0.15 })),
    );
    const numbers = Array.from({ length: 8 }, (_, i) => `+1555777000${i}`);
    const ids: string[] = [];
    for (const phoneNumber of numbers) {
      for (const n of [1, 2, 3])
        ids.push(await accept({ phoneNumber, type: 'text', message: `${phoneNumber} ${n}` }));
    }
    const lanes = [runner({ confirmMs: 400 }), runner({ confirmMs: 400 })];
    await eventually('all ended', async () => {
      await Promise.all(lanes.flatMap((lane) => numbers.map((number) => lane.run(A, number))));
      const states = await Promise.all(ids.map(async (id) => (await find(id)).status));
      return states.every((status) => ['accepted', 'sent', 'unknown'].includes(status));
    });
    expect(new Set(texts()).size).toBe(texts().length);
    for (const number of numbers) {
      const got = texts().filter((one) => one?.startsWith(number));
      expect(got).toEqual([...got].sort());
    }
  });
});
