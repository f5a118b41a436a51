import { afterEach, it } from '@jest/globals';
import { FixedAccounts } from '#accounts';
import { createLogger } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { SendSchedule } from './send-schedule.js';

const HOUR_MS = 3_600_000;
const ACCOUNTS = new FixedAccounts([
  { id: 'default', baseUrl: 'http://127.0.0.1/v1', apiKey: 'k', requestsPerSecond: 1, polling: true },
]);

let looks: number;
/** In how many milliseconds the next send is due. */
let next: number | undefined;
let schedule: SendSchedule;

function start(): void {
  looks = 0;
  const rounds = {
    promote: (): Promise<number | undefined> => {
      looks += 1;
      return Promise.resolve(next);
    },
  };
  schedule = new SendSchedule(rounds, ACCOUNTS, createLogger('test', 'silent'), HOUR_MS);
  schedule.onApplicationBootstrap();
}

afterEach(async () => {
  await schedule.onModuleDestroy();
});

it('sleeps until the next send is due', async () => {
  next = 20;
  start();
  await eventually('a third look', () => looks >= 3);
});

it('looks again when it is told of one that is scheduled for sooner', async () => {
  next = HOUR_MS;
  start();
  await eventually('the first look', () => looks === 1);
  next = 0;
  schedule.look();
  await eventually('it was due', () => looks > 2);
});
