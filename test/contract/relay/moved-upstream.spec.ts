import { describe, expect, it } from '@jest/globals';
import { StoredSendIntake } from '#relay';
import { upstreamStamp } from '#upstream';
import { settled } from '../../../libs/relay/src/send/send-record.js';
import { createSimulator, type Simulator } from '../../../apps/simulator/src/create-simulator.js';
import { A, type House } from '../feed/house.js';
import { NO_HINTS, NUMBER, WithLane } from './with-lane.js';

const here = new WithLane({ maxAgeMs: 600_000 });
const ORDER = { phoneNumber: NUMBER, type: 'text', message: 'Hi' };

/** An account whose address may come to be another one. */
class Moving {
  private baseUrl: string;
  readonly intake: StoredSendIntake;

  constructor(private readonly house: House) {
    this.baseUrl = house.address.baseUrl;
    this.intake = new StoredSendIntake(house.sends, house.idempotencyKeys, NO_HINTS, this.addressOf);
    const { upstream, source } = house;
    source.listContacts = (_, __, newReader) =>
      upstream.listContacts({ ...house.address, baseUrl: this.baseUrl }, newReader);
  }

  readonly addressOf = (): Promise<string> => Promise.resolve(upstreamStamp(this.baseUrl));

  to(baseUrl: string): void {
    this.baseUrl = baseUrl;
  }

  async accept(message = 'Hi'): Promise<string> {
    return (await this.intake.accept(A, { phoneNumber: NUMBER, type: 'text', message })).id;
  }

  async run(): Promise<void> {
    const { house } = this;
    const runner = here.runner({
      addressOf: this.addressOf,
      post: (_, send, limit) => house.upstream.send({ ...house.address, baseUrl: this.baseUrl }, send, limit),
    });
    await runner.run(A, NUMBER);
  }

  async status(id: string): Promise<string | undefined> {
    return (await this.intake.find(A, id))?.status;
  }
}

async function withOther(
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

describe('where no contact list was read from the address yet', () => {
  it('sends wait, and go out once one was read', async () => {
    const { house } = here;
    const account = new Moving(house);
    account.to(`${house.address.baseUrl}/wrong`);
    const upstream = await account.addressOf();
    const createdAt = Date.now() - 61_000;
    await house.sends.insert(A, { ...ORDER, id: 'snd_1', createdAt, upstream });
    await account.run();
    expect(await account.status('snd_1')).toBe('queued');
    expect(posts(house.simulator)).toBe(0);
    account.to(house.address.baseUrl);
    await account.run();
    expect(await account.status('snd_1')).toBe('accepted');
  });

  it('those that were accepted for it are tried where nobody answers, as ever', async () => {
    const { house } = here;
    const account = new Moving(house);
    account.to('http://127.0.0.1:9/v1');
    const id = await account.accept();
    await account.run();
    expect((await account.intake.find(A, id))?.attempts).toMatchObject([{ outcome: 'not_taken' }]);
  });

  it('one that may have been posted is looked for there before, also where nobody answers', async () => {
    const { house } = here;
    const account = new Moving(house);
    account.to('http://127.0.0.1:9/v1');
    await house.sends.insert(A, { ...ORDER, id: 'snd_1', createdAt: Date.now() });
    const record = await house.sends.find(A, 'snd_1');
    if (record === undefined) throw new Error('it was not stored');
    const failed = { happening: 'fenced', state: settled(record.state) } as const;
    const fenced = await house.sends.transit(A, record, failed);
    if (fenced === undefined) throw new Error('it was not fenced');
    await house.sends.transit(A, fenced, { happening: 'refused', state: settled(fenced.state) });
    await account.intake.resolve(A, 'snd_1', 'resend');
    await account.run();
    expect(await account.intake.find(A, 'snd_1')).toMatchObject({ status: 'relaying', attempts: [] });
  });

  it('one that was accepted for it a moment ago waits for those that do not know it yet', async () => {
    const { house } = here;
    const account = new Moving(house);
    await house.list.poll(A);
    account.to(`${house.address.baseUrl}/next`);
    const id = await account.accept();
    account.to(house.address.baseUrl);
    await account.run();
    expect(await account.status(id)).toBe('queued');
  });
});

describe('an address that leads to another service', () => {
  it('gets none of the sends that were accepted for the former one; resolved as resend, they go there', async () => {
    const { house } = here;
    await withOther(async (other) => {
      const account = new Moving(house);
      house.contact('+15550001111');
      await house.list.poll(A);
      const held = await account.accept('for the former one');
      account.to(other.baseUrl);
      const fresh = await account.accept('for the present one');
      await account.run();
      expect(await account.status(held)).toBe('unknown');
      expect((await account.intake.find(A, held))?.reason).toContain('leads to another service');
      expect(await account.status(fresh)).toBe('accepted');
      expect([posts(house.simulator), posts(other.simulator)]).toEqual([0, 1]);
      await account.intake.resolve(A, held, 'resend');
      expect(await account.status(held)).toBe('queued');
    });
  });

  it('has its contacts for a new baseline, and none of them is told as created', async () => {
    const { house } = here;
    await withOther(async (other) => {
      const account = new Moving(house);
      house.contact('+15550001111');
      await house.list.poll(A);
      account.to(other.baseUrl);
      other.simulator.control('contacts', { phoneNumber: '+15550002222' });
      await house.list.poll(A);
      expect(await house.types()).toEqual(['account.suspect']);
    });
  });
});

it('another address of the same service gets the sends that were accepted for the former one', async () => {
  const { house } = here;
  const account = new Moving(house);
  house.contact('+15550001111');
  await house.list.poll(A);
  const id = await account.accept();
  account.to(house.address.baseUrl.replace('127.0.0.1', 'localhost'));
  await account.run();
  expect(await account.status(id)).toBe('accepted');
  expect(await house.types()).not.toContain('account.suspect');
});
