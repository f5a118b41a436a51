import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { Product } from '../support/product.js';

const SENDS = 1_000;
/** Number of scheduled sends that are cancelled at or shortly after their due time. */
const RACES = 50;
/**
 * Time for accepting all sends, in milliseconds. Unscheduled sends are looked up after 32 and 62 s, and the
 * scheduled time lies between.
 */
const ACCEPT_TIME_MS = 45_000;
const PAGE = 10_000;

interface LedgerPage {
  entries: {
    kind: string;
    requestId: string;
    /** Real time of arrival of a request, in milliseconds since 1970. */
    arrivedAt?: number;
    /** Text of an accepted send. */
    message?: string;
  }[];
  next: number;
  hasMore: boolean;
}

/** Arrival times of the POST requests of accepted texts, by this machine's clock. */
class Arrivals {
  private since = 0;
  /** Texts by request id. A request is recorded at the end of its exchange, after its text. */
  private readonly textsByRequest = new Map<string, string>();
  private readonly times = new Map<string, number[]>();

  constructor(private readonly product: Product) {}

  /** Returns the arrival times of all accepted texts that start with the word, by text. */
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

  /** Waits until `count` texts have arrived and returns their arrival times. */
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
      this.textsByRequest.set(requestId, message ?? '');
      return;
    }
    const text = this.textsByRequest.get(requestId);
    if (text !== undefined) this.times.set(text, [...(this.times.get(text) ?? []), arrivedAt ?? NaN]);
  }
}

let product: Product;
let arrivals: Arrivals;

beforeAll(async () => {
  product = await Product.start({
    WORKER_ROLES: 'relay',
    // An unlimited budget, and no look-ups, because messages are never found without polls.
    UPSTREAM_REQUESTS_PER_SECOND: '100000',
    SEND_CONFIRM_MS: '1200000',
  });
  arrivals = new Arrivals(product);
}, 60_000);
afterAll(async () => {
  await product[Symbol.asyncDispose]();
}, 60_000);

const phoneOf = (i: number): string => `+1415555${String(1000 + i)}`;

/** Sends a text to each recipient, 20 concurrently. Returns the ids in order. */
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

/** Returns the number of sends with the status, at most 2. */
async function countWith(status: string): Promise<number> {
  const { sends } = await product.json<{ sends: object[] }>('GET', `/v1/sends?status=${status}&limit=2`);
  return sends.length;
}

describe('sends scheduled for the same time', () => {
  it('are posted neither early nor after their cancellation, and posting all of them takes at most one second longer than posting the same number of unscheduled sends', async () => {
    // Pauses the worker while the sends are accepted, so that the worker is equally warm in both
    // measurements.
    product.worker.child.kill('SIGSTOP');
    await acceptAll('plain');
    product.worker.child.kill('SIGCONT');
    const plain = [...(await arrivals.all('plain', SENDS)).values()].flat();
    const plainMs = Math.ceil(Math.max(...plain) - Math.min(...plain));

    const sendAt = Date.now() + ACCEPT_TIME_MS;
    const ids = await acceptAll('later', { sendAt: new Date(sendAt).toISOString() });
    expect(Date.now()).toBeLessThan(sendAt);
    await pause(sendAt - Date.now());
    const races = ids.flatMap((id, i) => (i % (SENDS / RACES) === 0 ? [{ id, i }] : []));
    const cancels = await Promise.all(
      races.map(async ({ id, i }, race) => {
        // Every second cancel comes when the send should be relayed, so that sometimes the cancel and
        // sometimes the relay is first.
        if (race % 2 === 1) await pause((plainMs * i) / SENDS);
        const { status } = await product.call('POST', `/v1/sends/${id}/cancel`);
        return { id, text: `later ${i}`, status };
      }),
    );
    const cancelled = cancels.filter(({ status }) => status === 200).length;
    await arrivals.all('later', SENDS - cancelled);
    await eventually(
      'no send is queued or relaying',
      async () => (await countWith('queued')) + (await countWith('relaying')) === 0,
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
    // Either the cancel or the relay wins, and the reported status matches what happened.
    for (const { id, text, status } of cancels) {
      expect([text, later.has(text)]).toEqual([text, status === 409]);
      const send = await product.json<{ status: string }>('GET', `/v1/sends/${id}`);
      expect([text, send.status === 'cancelled']).toEqual([text, status === 200]);
    }
  }, 300_000);
});
