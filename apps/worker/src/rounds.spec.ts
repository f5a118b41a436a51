import { expect, it } from '@jest/globals';
import { type Account, AccountGoneError, FixedAccounts } from '#accounts';
import { createLogger } from '#platform';
import { RoundSchedule } from './rounds.js';

const account = (id: string): Account => ({
  ...{ id, baseUrl: 'http://127.0.0.1/v1', apiKey: 'k', requestsPerSecond: 1, polling: true },
});
const QUEUE = { on: () => undefined } as unknown as ConstructorParameters<typeof RoundSchedule>[0];

function schedule(
  run: (account: string) => Promise<void>,
  ids: readonly string[],
  lines: string[] = [],
): RoundSchedule {
  const logger = createLogger('test', 'trace', { write: (line) => lines.push(line) });
  const accounts = new FixedAccounts(ids.map(account));
  return new RoundSchedule(QUEUE, { look: { everyMs: 250, run } }, accounts, logger);
}

it('goes through the accounts although the first of them hangs, and not into that one again', async () => {
  const ran: string[] = [];
  const rounds = schedule(
    (id) => {
      ran.push(id);
      return id === 'hangs' ? new Promise(() => undefined) : Promise.resolve();
    },
    ['hangs', 'a', 'b'],
  );
  await rounds.run('look');
  await rounds.run('look');
  expect(ran).toEqual(['hangs', 'a', 'b', 'a', 'b']);
});

it('tells of a round that failed, of none whose account went meanwhile, and goes on with the others', async () => {
  const lines: string[] = [];
  const ran: string[] = [];
  const rounds = schedule(
    (id) => {
      ran.push(id);
      if (id === 'gone') return Promise.reject(new AccountGoneError(id));
      return id === 'broken' ? Promise.reject(new Error('no')) : Promise.resolve();
    },
    ['gone', 'broken', 'a'],
    lines,
  );
  await rounds.run('look');
  expect(ran).toEqual(['gone', 'broken', 'a']);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { account: 'broken', round: 'look', err: { words: 'no' } },
  ]);
});

it('stops when what is under way has ended, and begins nothing after that', async () => {
  let end = (): void => undefined;
  let ran = 0;
  const rounds = schedule(() => {
    ran += 1;
    return new Promise((resolve) => (end = resolve));
  }, ['slow']);
  await rounds.run('look');
  let stopped = false;
  const stop = rounds.stop().then(() => (stopped = true));
  await rounds.run('look');
  expect([ran, stopped]).toEqual([1, false]);
  end();
  await stop;
});

it('begins no round any more of accounts that wait for a place when it stops', async () => {
  let end = (): void => undefined;
  const held = new Promise<void>((resolve) => (end = resolve));
  const ran: string[] = [];
  const ids = Array.from({ length: 40 }, (_, i) => `a${i}`);
  const rounds = schedule((id) => {
    ran.push(id);
    return held;
  }, ids);
  const running = rounds.run('look');
  await Promise.resolve();
  const stop = rounds.stop();
  end();
  await Promise.all([running, stop]);
  expect(ran.length).toBeLessThan(ids.length);
});
