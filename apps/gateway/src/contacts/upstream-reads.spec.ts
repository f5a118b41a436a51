import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { AccountDirectory } from '#accounts';
import type { GatewayEnvironment } from '#platform';
import { UpstreamReads } from './upstream-reads.js';

it('a read with an API key does not wait while an identical read with a token waits for the budget share of the tokens', async () => {
  let requests = 0;
  let grant: (waitedMs: number) => void = () => undefined;
  const read = (): Promise<string> => {
    requests += 1;
    return Promise.resolve('{"messages":[]}');
  };
  let waiting: () => void = () => undefined;
  const isWaiting = new Promise<void>((resolve) => (waiting = resolve));
  const reads = new UpstreamReads(
    { readContactsText: read, readMessagesText: read },
    { READ_CACHE_MS: 0 } as GatewayEnvironment,
    { find: () => Promise.resolve({ requestsPerSecond: 1 }) } as unknown as AccountDirectory,
    {
      acquire: () => {
        waiting();
        return new Promise((resolve) => (grant = resolve));
      },
    },
  );
  const ofToken = reads.messages({ account: 'a', tokenId: 't' }, 'own', []);
  await isWaiting;
  const ofApiKey = reads.messages({ account: 'a' }, 'own', []);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  expect(requests).toBe(1);
  grant(0);
  expect(await ofApiKey).toEqual({ body: '{"messages":[]}' });
  await ofToken;
  expect(requests).toBe(2);
});
