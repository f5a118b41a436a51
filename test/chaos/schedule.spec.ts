import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';

const SENDS = 1_000;
/** Of these, so many are taken back at the very moment, or when it is their turn. */
const RACES = 50;
/** The plain ones, which nobody polls for, are asked for after 32 and 62 s: the instant is between. */
const ACCEPT_WITHIN_MS = 45_000;
const PAGE = 10_000;

interface LedgerPage {
  entries: {
    kind: string;
    requestId: string;
    /** Of a request: the real time of its arrival, in milliseconds since 1970. */
    arrivedAt?: number;
    /** Of a text that was taken. */
    message?: string;
  }[];
  next: number;
  hasMore: boolean;
}

/** When the simulator got the POST of each text that it took, by the clock of this machine. */
class Arrivals {
  private since = 0;
  /** A request is written down when its exchange is over: after the text that it brought. */
  private readonly brought = new Map<string, string>();
  private readonly times = new Map<string, number[]>();

  constructor(private readonly product: Product) {}

  /** Of the texts that begin with the word, all that were taken until now: text to times. */
  async of(word: string): Promise<Map<string, number[]>> {
    for (let more = true; more;) {
      const page = await this.product.simulate<LedgerPage>('ledger', {
        ...{ since: this.since, kind: ['request', 'send.accepted'], limit: PAGE },
      });
      for (const entry of page.entries) this.note(entry);
      [this.since, more] = [page.next, page.hasMore];
    }
    return new Map([...this.times].filter(([text]) => text.startsWith(`${word} `)));
  }

  /** When there are so many of them. */
  async all(word: string, count: number): Promise<Map<string, number[]>> {
    return eventually(
      `${count} of ${word}`,
      async () => {
        const found = await this.of(word);
        return found.size >= count && found;
      },
      120_000,
    );
  }

  private note({ kind, requestId, message, arrivedAt }: LedgerPage['entries'][number]): void {
    if (kind === 'send.accepted') {
      this.brought.set(requestId, message ?? '');
      return;
    }
    const text = this.brought.get(requestId);
    if (text !== undefined) this.times.set(text, [...(this.times.get(text) ?? []), arrivedAt ?? NaN]);
  }
}

let product: Product;
let arrivals: Arrivals;

beforeAll(async () => {
  product = await Product.start({
    WORKER_ROLES: 'relay',
    // A budget that is none, and nobody who looks for messages that without polls are never seen.
    UPSTREAM_REQUESTS_PER_SECOND: '100000',
    SEND_CONFIRM_MS: '1200000',
  });
  arrivals = new Arrivals(product);
}, 60_000);
afterAll(async () => {
  await product[Symbol.asyncDispose]();
}, 60_000);

const phoneOf = (i: number): string => `+1415555${String(1000 + i)}`;

/** Has a text to each recipient accepted, 20 at a time: the ids, in order. */
async function acceptAll(word: string, more: object = {}): Promise<string[]> {
  const ids: string[] = Array.from({ length: SENDS }, () => '');
  let next = 0;
  const acceptOn = async (): Promise<void> => {
    for (let i = next++; i < SENDS; i = next++) {
      const body = { phoneNumber: phoneOf(i), message: `${word} ${i}`, ...more };
      ids[i] = (await product.json<{ id: string }>('POST', '/v1/messages/send', body)).id;
    }
  };
  await Promise.all(Array.from({ length: 20 }, acceptOn));
  return ids;
}

/** How many sends stand so, of a few. */
async function standing(status: string): Promise<number> {
  const { sends } = await product.json<{ sends: object[] }>('GET', `/v1/sends?status=${status}&limit=2`);
  return sends.length;
}

describe('sends for one instant', () => {
  it('go out not early, the first within a second, the last within a second more than their relay takes; a cancel wins or loses', async () => {
    // Paused while they are accepted, so that a worker as warm as later relays them.
    product.worker.child.kill('SIGSTOP');
    await acceptAll('plain');
    product.worker.child.kill('SIGCONT');
    const plain = [...(await arrivals.all('plain', SENDS)).values()].flat();
    const plainMs = Math.ceil(Math.max(...plain) - Math.min(...plain));

    const sendAt = Date.now() + ACCEPT_WITHIN_MS;
    const ids = await acceptAll('later', { sendAt: new Date(sendAt).toISOString() });
    expect(Date.now()).toBeLessThan(sendAt);
    await pause(sendAt - Date.now());
    const races = ids.flatMap((id, i) => (i % (SENDS / RACES) === 0 ? [{ id, i }] : []));
    const cancels = await Promise.all(
      races.map(async ({ id, i }, race) => {
        // Every other one when it should be its turn, so that now the one and now the other is first.
        if (race % 2 === 1) await pause((plainMs * i) / SENDS);
        const { status } = await product.call('POST', `/v1/sends/${id}/cancel`);
        return { id, text: `later ${i}`, status };
      }),
    );
    const cancelled = cancels.filter(({ status }) => status === 200).length;
    await arrivals.all('later', SENDS - cancelled);
    await eventually(
      'none is on its way',
      async () => (await standing('queued')) + (await standing('relaying')) === 0,
    );
    const later = await arrivals.of('later');
    const times = [...later.values()].flat();
    const [first, last] = [Math.floor(Math.min(...times) - sendAt), Math.ceil(Math.max(...times) - sendAt)];
    process.stdout.write(`Of one instant: ${JSON.stringify({ plainMs, first, last, cancelled })}\n`);

    expect(cancels.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    expect([...later.values()].filter((each) => each.length !== 1)).toEqual([]);
    expect(first).toBeGreaterThanOrEqual(0);
    expect(first).toBeLessThanOrEqual(1_000);
    expect(last).toBeLessThanOrEqual(1_000 + plainMs);
    // Exactly one of the two wins, and what is told is what happened.
    for (const { id, text, status } of cancels) {
      expect([text, later.has(text)]).toEqual([text, status === 409]);
      const send = await product.json<{ status: string }>('GET', `/v1/sends/${id}`);
      expect([text, send.status === 'cancelled']).toEqual([text, status === 200]);
    }
  }, 300_000);
});
