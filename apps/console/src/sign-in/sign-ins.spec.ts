import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import type { SignIns } from './sign-ins.js';

/** Globals of the browser that the module reads. */
const NAMES = ['location', 'sessionStorage', 'localStorage', 'fetch'] as const;
const before = NAMES.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);

/** Accounts of the API keys that have a session, by key id. The id of a session is that of its key. */
let sessions: Map<string, string>;
let signIns: SignIns;
/** Sessions of the requests that count as use. */
let used: string[];

class MemoryStorage {
  private readonly items = new Map<string, string>();

  getItem(name: string): string | null {
    return this.items.get(name) ?? null;
  }

  setItem(name: string, value: string): void {
    this.items.set(name, value);
  }

  removeItem(name: string): void {
    this.items.delete(name);
  }
}

/** True while the gateway does not return the sessions. */
let isUnreadable: boolean;

/** Resolves when the gateway may confirm the end of a session. */
let mayEnd: Promise<void>;

/** Answers a request as the gateway does. An API key is its own id. */
async function answer(method: string | undefined, path: string, headers: Headers): Promise<object> {
  if (method === 'DELETE') await mayEnd;
  if (method === 'POST') return { id: headers.get('X-API-Key') };
  if (path === '/console/sessions' && isUnreadable) throw new TypeError('fetch failed');
  if (path === '/console/sessions')
    return { sessions: [...sessions.keys()].map((id) => ({ id, keyId: id })) };
  const keyId = headers.get('X-Tidings-Console') ?? '';
  if (!headers.has('X-Tidings-Unattended')) used.push(keyId);
  return { account: sessions.get(keyId), keyId, keyName: null, scopes: [] };
}

function replace(name: (typeof NAMES)[number], value: unknown): void {
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
}

/** Loads the page again. The storage of the browser does not change. */
async function reload(): Promise<void> {
  const module = await import('./sign-ins.js');
  signIns = new module.SignIns();
  await signIns.restore();
}

beforeAll(() => {
  replace('location', new URL('https://gateway.example/console'));
});

beforeEach(() => {
  sessions = new Map();
  used = [];
  isUnreadable = false;
  replace('sessionStorage', new MemoryStorage());
  replace('localStorage', new MemoryStorage());
  mayEnd = Promise.resolve();
  replace('fetch', async (url: string, { method, headers }: RequestInit) =>
    Response.json(await answer(method, new URL(url).pathname, new Headers(headers))),
  );
});

afterAll(() => {
  for (const [name, descriptor] of before)
    if (descriptor === undefined) Reflect.deleteProperty(globalThis, name);
    else Object.defineProperty(globalThis, name, descriptor);
});

it('a reload of the console continues with the API key that was in use', async () => {
  sessions = new Map([
    ['key_1', 'north'],
    ['key_2', 'south'],
  ]);
  await reload();
  signIns.switchTo('key_2');
  await reload();
  expect(signIns.snapshot.current?.id).toBe('key_2');
});

it('if the session that was in use has ended, a reload of the console does not continue with another session, but says that the sign-in has ended, and offers the other session', async () => {
  sessions = new Map([
    ['key_1', 'north'],
    ['key_2', 'south'],
  ]);
  await reload();
  expect(signIns.snapshot.current?.id).toBe('key_1');
  sessions.delete('key_1');
  await reload();
  const { current, all, endedBecause } = signIns.snapshot;
  expect(current).toBeUndefined();
  expect(all.map(({ id }) => id)).toEqual(['key_2']);
  expect(endedBecause).toBe('The last sign-in has ended. Sign in again, or continue with another API key.');
});

it('if the sessions cannot be read, a reload of the console says that the sign-in is not confirmed', async () => {
  sessions = new Map([['key_1', 'north']]);
  await reload();
  isUnreadable = true;
  await reload();
  expect(signIns.snapshot).toMatchObject({
    isRestored: true,
    current: undefined,
    endedBecause: 'The gateway did not confirm your sign-in. Reload the page to try again.',
  });
});

it('if the sessions cannot be read, somebody who never signed in to the console sees only the sign-in form', async () => {
  isUnreadable = true;
  await reload();
  expect(signIns.snapshot).toMatchObject({ isRestored: true, endedBecause: undefined });
});

it('a sign-in with an API key of an account other than that of the page does not keep the address of the page', async () => {
  sessions = new Map([
    ['key_1', 'north'],
    ['key_2', 'north'],
    ['key_3', 'south'],
  ]);
  const onOtherAccount = jest.fn();
  const signIn = async (key: string): Promise<number> => {
    await signIns.signIn(key, onOtherAccount);
    return onOtherAccount.mock.calls.length;
  };
  sessionStorage.setItem('tidings.console.current', 'none');
  await reload();
  // The page showed no account before, so its address is kept: a link leads to its page.
  expect(await signIn('key_1')).toBe(0);
  expect(await signIn('key_2')).toBe(0);
  expect(await signIn('key_3')).toBe(1);
  // The session ends, and the page is loaded again.
  sessions.delete('key_3');
  await reload();
  expect(await signIn('key_1')).toBe(2);
});

it('a slow sign-out does not undo a switch to another API key', async () => {
  sessions = new Map([
    ['key_1', 'north'],
    ['key_2', 'north'],
    ['key_3', 'south'],
  ]);
  await reload();
  let confirm: () => void = () => undefined;
  mayEnd = new Promise((resolve) => (confirm = resolve));
  const signOut = signIns.signOut();
  signIns.switchTo('key_3');
  confirm();
  expect(await signOut).toBe(false);
  expect(signIns.snapshot.current?.id).toBe('key_3');
  expect(signIns.snapshot.all.map(({ id }) => id)).toEqual(['key_2', 'key_3']);
  expect(await signIns.signOut()).toBe(true);
  expect(signIns.snapshot.current?.id).toBe('key_2');
});

it('a reload of the console counts as use only of the session that was in use', async () => {
  sessions = new Map([
    ['key_1', 'north'],
    ['key_2', 'south'],
  ]);
  await reload();
  signIns.switchTo('key_2');
  used = [];
  await reload();
  expect(used).toEqual(['key_2']);
});
