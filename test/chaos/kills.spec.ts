import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';

const RECIPIENTS = 40;
const SENDS = 200;
const KILLS = 8;
/** Each of these befalls one POST in twenty. */
const FAULTS = ['timeoutAfter', 'resetAfter', 'resetBefore', 'html'] as const;

interface Ledger {
  entries: { phoneNumber: string; message: string }[];
}
interface SendView {
  id: string;
  status: string;
  message: string;
}

const ENDS = new Set(['sent', 'delivered', 'read', 'unknown', 'failed', 'expired', 'cancelled']);

let product: Product | undefined;
let second: ProductProcess | undefined;

afterEach(async () => {
  await second?.stop();
  await product?.[Symbol.asyncDispose]();
  second = undefined;
  product = undefined;
}, 60_000);

describe('kills and faults', () => {
  it('nobody is texted twice, each recipient in the order of acceptance, and every send comes to an honest end', async () => {
    product = await Product.start({
      UPSTREAM_TIMEOUT_MS: '1000',
      SEND_CONFIRM_MS: '5000',
      UPSTREAM_REQUESTS_PER_SECOND: '200',
    });
    const running = product;
    const workers: (() => Promise<void>)[] = [
      async () => {
        await running.worker.stop('SIGKILL');
        await running.startWorker();
      },
      async () => {
        await second?.stop('SIGKILL');
        second = await startProcess('worker', { ...running.environment(), WORKER_PORT: '0' });
      },
    ];
    second = await startProcess('worker', { ...running.environment(), WORKER_PORT: '0' });
    await running.simulate(
      'faults',
      FAULTS.map((fault) => ({ match: { method: 'POST' }, fault, probability: 0.05 })),
    );

    const accepted: { id: string; phoneNumber: string; message: string }[] = [];
    for (let i = 0; i < SENDS; i += 1) {
      const phoneNumber = `+1415555${String(1000 + (i % RECIPIENTS))}`;
      const message = `Text ${i}`;
      const { id } = await running.json<{ id: string }>('POST', '/v1/messages/send', {
        phoneNumber,
        message,
      });
      accepted.push({ id, phoneNumber, message });
    }
    for (let kill = 0; kill < KILLS; kill += 1) {
      await pause(700);
      await workers[kill % workers.length]?.();
    }

    const sends = await eventually(
      'every send has ended',
      async () => {
        const seen = await Promise.all(
          accepted.map(({ id }) => running.json<SendView>('GET', `/v1/sends/${id}`)),
        );
        return seen.every(({ status }) => ENDS.has(status)) && seen;
      },
      150_000,
    );
    const { entries } = await running.simulate<Ledger>('ledger', { kind: 'send.accepted' });
    const texts = entries.map(({ message }) => message);
    expect(texts).toHaveLength(new Set(texts).size);
    for (const { phoneNumber } of accepted.slice(0, RECIPIENTS)) {
      const asked = accepted.filter((send) => send.phoneNumber === phoneNumber).map(({ message }) => message);
      const got = entries.filter((entry) => entry.phoneNumber === phoneNumber).map(({ message }) => message);
      expect(got).toEqual(asked.filter((message) => got.includes(message)));
    }
    // What upstream has is bound to its send; what it does not have is said to be unknown.
    const got = new Set(texts);
    expect(sends.filter(({ message, status }) => got.has(message) && status === 'unknown')).toEqual([]);
    expect(sends.filter(({ message, status }) => !got.has(message) && status !== 'unknown')).toEqual([]);
  }, 240_000);

  it('a deletion is told once, with its last form, after two reads a minute apart', async () => {
    product = await Product.start();
    const running = product;
    const { contacts } = await running.simulate<{ contacts: { id: string }[] }>('contacts', {
      phoneNumber: '+14155550199',
    });
    const contactId = contacts[0]?.id ?? '';
    const told = async (type: string): Promise<{ data: { message: { message?: string } } }[]> =>
      (
        await running.json<{ events: { data: { message: { message?: string } } }[] }>(
          'GET',
          `/v1/events?types=${type}`,
        )
      ).events;
    const first = await running.simulate<{ id: string }>('typing', { contactId, message: 'Soon gone' });
    await running.simulate('typing', { contactId, message: 'Stays' });
    await eventually('both are told', async () => (await told('message.received')).length === 2);
    const deletedAt = performance.now();
    await running.simulate('messages/delete', { id: first.id });
    const deleted = await eventually(
      'the deletion is told',
      async () => {
        const events = await told('message.deleted');
        return events.length > 0 && events;
      },
      150_000,
    );
    expect(performance.now() - deletedAt).toBeGreaterThan(59_000);
    expect(deleted.map(({ data }) => data.message.message)).toEqual(['Soon gone']);
  }, 240_000);
});
