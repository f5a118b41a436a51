import { expect, it } from '@jest/globals';
import { SideBySide } from './side-by-side.js';

const FOREVER = 60_000;
const never = (): Promise<void> => new Promise(() => undefined);

it('waits for none that takes long, and gives its place to the next', async () => {
  const done: string[] = [];
  const work = (account: string): Promise<void> => {
    if (account.startsWith('hangs')) return never();
    done.push(account);
    return Promise.resolve();
  };
  await new SideBySide(1, 2).run(['hangs-1', 'hangs-2', 'hangs-3', 'a', 'b'], work);
  expect(done).toEqual(['a', 'b']);
});

it('begins no account a second time while it is under way, and begins it again when it has ended', async () => {
  let end = (): void => undefined;
  const begun: string[] = [];
  const work = (account: string): Promise<void> => {
    begun.push(account);
    return account === 'slow' ? new Promise((resolve) => (end = resolve)) : Promise.resolve();
  };
  const accounts = new SideBySide(1);
  await accounts.run(['slow', 'a'], work);
  await accounts.run(['slow', 'a'], work);
  expect(begun).toEqual(['slow', 'a', 'a']);
  end();
  await accounts.ended();
  await accounts.run(['slow'], work);
  expect(begun).toHaveLength(4);
  end();
  await accounts.ended();
});

it('has no more under way at once than it has places, as long as none takes long', async () => {
  let now = 0;
  let most = 0;
  const ids = Array.from({ length: 100 }, (_, i) => String(i));
  const results = await new SideBySide<string>(FOREVER, 7).run(ids, async (account) => {
    now += 1;
    most = Math.max(most, now);
    await new Promise(setImmediate);
    now -= 1;
    return account;
  });
  expect(most).toBe(7);
  expect(results.sort()).toEqual(ids.sort());
});
