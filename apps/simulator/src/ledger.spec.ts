import { expect, it } from '@jest/globals';
import { Ledger } from './ledger.js';
import type { LedgerEvent } from './ledger-entries.js';

const MAX_BYTES = 100_000;

function created(index: number, message: string): LedgerEvent {
  return {
    kind: 'message.created',
    messageId: `msg_${index}`,
    contactId: 'con_1',
    direction: 'inbound',
    origin: 'injected',
    message,
    timestamp: '2026-11-27T00:00:00.000Z',
    delivered: false,
    read: false,
    sendNumber: null,
  };
}

it('the ledger drops the oldest entries if all entries together need too much memory, even if there are few entries', () => {
  const ledger = new Ledger(
    () => 1_000_000,
    () => undefined,
    MAX_BYTES,
  );
  for (let i = 0; i < 500; i += 1) ledger.record(created(i, 'short'));
  for (let i = 500; i < 550; i += 1) ledger.record(created(i, 'x'.repeat(10_000)));
  const { entries, next, dropped } = ledger.read();
  expect(JSON.stringify(entries).length).toBeLessThan(1.1 * MAX_BYTES);
  expect(entries.map(({ index }) => index)).toEqual(entries.map((_, i) => next - entries.length + i));
  expect([next, dropped + entries.length]).toEqual([550, 550]);
  expect(entries.length).toBeGreaterThan(5);

  const restored = new Ledger(
    () => 1_000_000,
    () => undefined,
    MAX_BYTES / 2,
  );
  restored.restore(entries, next);
  expect(JSON.stringify(restored.read().entries).length).toBeLessThan(0.6 * MAX_BYTES);
  expect(restored.next).toBe(next);
});

it('the ledger counts two bytes per character for a text with characters that are not in Latin-1', () => {
  const countOf = (character: string): number => {
    const ledger = new Ledger(
      () => 1_000_000,
      () => undefined,
      MAX_BYTES,
    );
    for (let i = 0; i < 50; i += 1) ledger.record(created(i, character.repeat(10_000)));
    return ledger.read().entries.length;
  };
  expect([countOf('é'), countOf('ж')]).toEqual([9, 4]);
});
