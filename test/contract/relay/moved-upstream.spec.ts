import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { RedisUpstreamHealth, StoreBackedSendService } from '#relay';
import {
  BudgetedUpstream,
  hashUpstreamAddress,
  RedisRequestBudget,
  type UpstreamAccount,
  type UpstreamAddress,
} from '#upstream';
import { fieldsKeptAcrossTransitions } from '../../../libs/relay/src/send/send-record.js';
import { eventually } from '../../support/eventually.js';
import { AccountSender } from '../../../apps/worker/src/relay/account-sender.js';
import { createSimulator, type Simulator } from '../../../apps/simulator/src/create-simulator.js';
import { ACCOUNT, type FeedHarness } from '../feed/feed-harness.js';
import { NO_HINTS, NUMBER, WithLane } from './with-lane.js';

const here = new WithLane({ maxAgeMs: 600_000 });
const ORDER = { phoneNumber: NUMBER, type: 'text', message: 'Hi' };

/** An account whose upstream address can change. */
class MovableAccount {
  private baseUrl: string;
  readonly intake: StoreBackedSendService;

  constructor(private readonly harness: FeedHarness) {
    this.baseUrl = harness.address.baseUrl;
    this.intake = new StoreBackedSendService(
      harness.sends,
      harness.idempotencyKeys,
      NO_HINTS,
      this.addressOf,
    );
    const { upstream, source } = harness;
    const address = (): UpstreamAddress => ({ ...harness.address, baseUrl: this.baseUrl });
    source.listContacts = (_, __, newReader) => upstream.listContacts(address(), newReader);
    source.listMessages = (_, contactId, page, limit) =>
      upstream.listMessages(address(), contactId, page, limit);
  }

  readonly addressOf = (): Promise<string> => Promise.resolve(hashUpstreamAddress(this.baseUrl));

  to(baseUrl: string): void {
    this.baseUrl = baseUrl;
  }

  async accept(message = 'Hi'): Promise<string> {
    return (await this.intake.accept(ACCOUNT, { phoneNumber: NUMBER, type: 'text', message })).id;
  }

  async run(): Promise<void> {
    const { harness } = this;
    const runner = here.runner({
      addressOf: this.addressOf,
      post: (_, send, limit) =>
        harness.upstream.send({ ...harness.address, baseUrl: this.baseUrl }, send, limit),
    });
    await runner.run(ACCOUNT, NUMBER);
  }

  /** Returns the worker's sender, which posts to the present address. */
  sender(): AccountSender {
    const { address, upstream, redis, prefix, logger } = this.harness;
    const find = (): Promise<UpstreamAccount> =>
      Promise.resolve({ ...address, baseUrl: this.baseUrl, requestsPerSecond: 100 });
    const budget = new RedisRequestBudget(redis, prefix);
    const health = new RedisUpstreamHealth(redis, prefix);
    return new AccountSender(new BudgetedUpstream(upstream, find, budget, health, logger), find, health);
  }

  async status(id: string): Promise<string | undefined> {
    return (await this.intake.find(ACCOUNT, id))?.status;
  }
}

async function withOtherService(
  run: (other: { simulator: Simulator; baseUrl: string }) => Promise<void>,
): Promise<void> {
  const simulator = await createSimulator({ seed: 2, settings: { sendVisibleDelayMs: 0 } });
  try {
    await run({ simulator, baseUrl: (await simulator.listen()).baseUrl });
  } finally {
    await simulator.close();
  }
}

function posts(simulator: Simulator): number {
  const { entries } = simulator.ledger.read({ kinds: ['request'] });
  return entries.filter((entry) => entry.kind === 'request' && entry.method === 'POST').length;
}

describe('before the first read of the contact list at a new upstream address of an account,', () => {
  it('sends wait, and are posted once the contact list has been read', async () => {
    const { harness } = here;
    const account = new MovableAccount(harness);
    account.to(`${harness.address.baseUrl}/wrong`);
    const upstream = await account.addressOf();
    const createdAt = Date.now() - 61_000;
    await harness.sends.insert(ACCOUNT, { ...ORDER, id: 'snd_1', createdAt, upstream });
    await account.run();
    expect(await account.status('snd_1')).toBe('queued');
    expect(posts(harness.simulator)).toBe(0);
    account.to(harness.address.baseUrl);
    await account.run();
    expect(await account.status('snd_1')).toBe('accepted');
  });

  it('a send is attempted without the contact list if the new address is unreachable, because no service can receive the POST', async () => {
    const { harness } = here;
    const account = new MovableAccount(harness);
    account.to('http://127.0.0.1:9/v1');
    const id = await account.accept();
    await account.run();
    expect((await account.intake.find(ACCOUNT, id))?.attempts).toMatchObject([{ outcome: 'not_taken' }]);
  });

  it.each([
    ['cannot be decompressed', { 'content-encoding': 'gzip' }, gzipSync('{"contacts":[]}').subarray(0, 20)],
    ['has too many lists', {}, `{${'"data":[],'.repeat(1_001)}"contacts":[]}`],
  ])(
    'a send is posted to the address for which it was stored if the contact list %s',
    async (_, headers, body) => {
      const { harness } = here;
      const account = new MovableAccount(harness);
      const { upstream, source } = harness;
      const server = createServer((__, response) => response.writeHead(200, headers).end(body));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      try {
        const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
        source.listContacts = (__, ___, newReader) =>
          upstream.listContacts({ ...harness.address, baseUrl }, newReader);
        const id = await account.accept();
        await account.run();
        expect(await account.status(id)).toBe('accepted');
      } finally {
        server.closeAllConnections();
        server.close();
      }
    },
  );

  it.each([{ kind: 'status', status: 500 }, { kind: 'resetBefore' }])(
    'a send that was stored for another address is not posted if the contact list cannot be read (fault: %j)',
    async (fault) => {
      const { harness } = here;
      const account = new MovableAccount(harness);
      const upstream = hashUpstreamAddress('http://127.0.0.1:9/v1');
      const createdAt = Date.now() - 61_000;
      await harness.sends.insert(ACCOUNT, { ...ORDER, id: 'snd_1', createdAt, upstream });
      harness.control('faults', { match: { method: 'GET' }, fault, times: 'always' });
      await account.run();
      expect(harness.countRequests(/^GET /)).toBe(1);
      expect(await account.intake.find(ACCOUNT, 'snd_1')).toMatchObject({ status: 'queued', attempts: [] });
      expect(posts(harness.simulator)).toBe(0);
    },
  );

  it('a send that expires during the read of the contact list is not posted', async () => {
    const { harness } = here;
    const account = new MovableAccount(harness);
    account.to('http://127.0.0.1:9/v1');
    const expiresAt = Date.now() + 200;
    const { id } = await account.intake.accept(ACCOUNT, { ...ORDER, expiresAt });
    const { source } = harness;
    const listContacts = source.listContacts.bind(source);
    source.listContacts = async (...args) => {
      await eventually('the send has expired', () => Promise.resolve(Date.now() > expiresAt));
      return listContacts(...args);
    };
    await account.run();
    expect(await account.intake.find(ACCOUNT, id)).toMatchObject({ status: 'expired', attempts: [] });
  });

  it('a send that may already have been posted is not posted again until a look-up succeeds, even if the new address is unreachable at first', async () => {
    const { harness } = here;
    const account = new MovableAccount(harness);
    account.to('http://127.0.0.1:9/v1');
    await harness.sends.insert(ACCOUNT, { ...ORDER, id: 'snd_1', createdAt: Date.now() });
    const record = await harness.sends.find(ACCOUNT, 'snd_1');
    if (record === undefined) throw new Error('the send was not stored');
    const failed = { transition: 'fenced', state: fieldsKeptAcrossTransitions(record.state) } as const;
    const fenced = await harness.sends.apply(ACCOUNT, record, failed);
    if (fenced === undefined) throw new Error('the send was not fenced');
    await harness.sends.apply(ACCOUNT, fenced, {
      transition: 'refused',
      state: fieldsKeptAcrossTransitions(fenced.state),
    });
    await account.intake.resolve(ACCOUNT, 'snd_1', 'resend');
    await account.run();
    expect(await account.intake.find(ACCOUNT, 'snd_1')).toMatchObject({ status: 'relaying', attempts: [] });
  });

  it('a worker that still uses the former address does not post a send for the new address until the send is one minute old', async () => {
    const { harness } = here;
    const account = new MovableAccount(harness);
    await harness.list.poll(ACCOUNT);
    account.to(`${harness.address.baseUrl}/next`);
    const upstream = await account.addressOf();
    const createdAt = Date.now() - 61_000;
    await harness.sends.insert(ACCOUNT, { ...ORDER, id: 'snd_1', createdAt, upstream });
    const id = await account.accept();
    account.to(harness.address.baseUrl);
    await account.run();
    expect(await account.status('snd_1')).toBe('accepted');
    expect(await account.status(id)).toBe('queued');
    expect(posts(harness.simulator)).toBe(1);
  });
});

describe('after the upstream address was changed to that of another service,', () => {
  it('a send that was stored for the former service is not posted to the new service: the send becomes unknown, and can be resent', async () => {
    const { harness } = here;
    await withOtherService(async (other) => {
      const account = new MovableAccount(harness);
      harness.createContact('+15550001111');
      await harness.list.poll(ACCOUNT);
      const held = await account.accept('for the former service');
      account.to(other.baseUrl);
      const fresh = await account.accept('for the present service');
      await account.run();
      expect(await account.status(held)).toBe('unknown');
      expect((await account.intake.find(ACCOUNT, held))?.reason).toContain('leads to another service');
      expect(await account.status(fresh)).toBe('accepted');
      expect([posts(harness.simulator), posts(other.simulator)]).toEqual([0, 1]);
      await account.intake.resolve(ACCOUNT, held, 'resend');
      expect(await account.status(held)).toBe('queued');
      await eventually('the resend is posted to the present service', async () => {
        await account.run();
        return posts(other.simulator) === 2;
      });
      expect(await account.status(held)).toBe('accepted');
      expect(posts(harness.simulator)).toBe(0);
    });
  });

  it('a send is not posted to the other service even if the address changes after the check and right before the POST', async () => {
    const { harness } = here;
    await withOtherService(async (other) => {
      const account = new MovableAccount(harness);
      harness.createContact('+15550001111');
      await harness.list.poll(ACCOUNT);
      const id = await account.accept();
      const sender = account.sender();
      const runner = here.runner({
        addressOf: account.addressOf,
        post: (...post) => {
          account.to(other.baseUrl);
          return sender.post(...post);
        },
      });
      await runner.run(ACCOUNT, NUMBER);
      expect(await account.intake.find(ACCOUNT, id)).toMatchObject({ status: 'unknown', attempts: [] });
      expect([posts(harness.simulator), posts(other.simulator)]).toEqual([0, 0]);
    });
  });

  it('a send still awaits its message if it was posted to the former service before Redis lost the record of the POST', async () => {
    const { harness } = here;
    await withOtherService(async (other) => {
      const account = new MovableAccount(harness);
      harness.createContact('+15550001111');
      await harness.list.poll(ACCOUNT);
      const id = await account.accept();
      const before = await here.memory();
      await account.run();
      expect(posts(harness.simulator)).toBe(1);
      await before.restore(here.redis);
      const fresh = await account.accept('never posted');
      account.to(other.baseUrl);
      await account.run();
      const awaiting = async (): Promise<string[]> =>
        (await harness.sends.sendsAwaitingMessage(ACCOUNT, NUMBER, 10)).map(({ order }) => order.id);
      expect([await account.status(id), await account.status(fresh)]).toEqual(['unknown', 'unknown']);
      expect(await awaiting()).toEqual([id]);
    });
  });

  it('the account takes a new baseline of contacts, without contact.created events', async () => {
    const { harness } = here;
    await withOtherService(async (other) => {
      const account = new MovableAccount(harness);
      harness.createContact('+15550001111');
      await harness.list.poll(ACCOUNT);
      account.to(other.baseUrl);
      other.simulator.control('contacts', { phoneNumber: '+15550002222' });
      await harness.list.poll(ACCOUNT);
      expect(await harness.eventTypes()).toEqual(['account.suspect']);
    });
  });
});

it('another address of the same service receives the sends that were stored for the former address', async () => {
  const { harness } = here;
  const account = new MovableAccount(harness);
  harness.createContact('+15550001111');
  await harness.list.poll(ACCOUNT);
  const id = await account.accept();
  account.to(harness.address.baseUrl.replace('127.0.0.1', 'localhost'));
  await account.run();
  expect(await account.status(id)).toBe('accepted');
  expect(await harness.eventTypes()).not.toContain('account.suspect');
});
