import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findConnection } from './connection.js';
import { ProfileStore } from './profile-store.js';

let folder: string;
let store: ProfileStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-profiles-'));
  store = new ProfileStore(join(folder, 'profiles.json'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const MAIN = { url: 'https://tidings.internal', apiKey: 'tk_main' };

describe('the gateway of a command', () => {
  it('is that of the current profile, unless another one is named', async () => {
    await store.save('main', MAIN);
    await store.save('test', { url: 'http://10.0.0.7:3000', apiKey: 'tk_test' });
    expect(await findConnection({}, {}, store)).toEqual({ url: 'http://10.0.0.7:3000', apiKey: 'tk_test' });
    expect(await findConnection({ profile: 'main' }, {}, store)).toEqual(MAIN);
    expect(await findConnection({}, { TIDINGS_PROFILE: 'main' }, store)).toEqual(MAIN);
    await store.use('main');
    expect(await findConnection({}, {}, store)).toEqual(MAIN);
    await expect(findConnection({ profile: 'other' }, {}, store)).rejects.toThrow(
      'there is no profile other; stored: main, test',
    );
  });

  it('takes the key of the environment before a stored one', async () => {
    await store.save('main', MAIN);
    expect(await findConnection({}, { TIDINGS_API_KEY: 'tk_other' }, store)).toEqual({
      ...MAIN,
      apiKey: 'tk_other',
    });
  });

  it('never gets a key that was stored for another address', async () => {
    await store.save('main', MAIN);
    for (const url of [
      'https://elsewhere.example',
      'http://tidings.internal',
      'https://tidings.internal:8443',
    ])
      await expect(findConnection({ url }, {}, store)).rejects.toThrow(`there is no API key for ${url}`);
    expect(await findConnection({ url: 'https://tidings.internal/' }, {}, store)).toEqual(MAIN);
  });

  it('is that of the checkout if there is no profile, at its own address only', async () => {
    const local = { TIDINGS_CHECKOUT_KEY: 'tk_local', TIDINGS_CHECKOUT_URL: 'http://127.0.0.1:3000' };
    expect(await findConnection({}, local, store)).toEqual({
      url: 'http://127.0.0.1:3000',
      apiKey: 'tk_local',
    });
    await expect(findConnection({ url: 'http://127.0.0.1:3999' }, local, store)).rejects.toThrow(
      'there is no API key',
    );
  });

  it.each(['tidings.internal', 'ftp://tidings.internal', 'https://user:secret@tidings.internal'])(
    'is not %s',
    async (url) => {
      await expect(findConnection({ url }, { TIDINGS_API_KEY: 'tk' }, store)).rejects.toThrow(
        'is not the address',
      );
    },
  );
});

describe('the file of the profiles', () => {
  it('is refused if others can read it, or if it is damaged', async () => {
    await store.save('main', MAIN);
    await chmod(store.path, 0o644);
    await expect(store.read()).rejects.toThrow(`run: chmod 600 ${store.path}`);
    await chmod(store.path, 0o600);
    await writeFile(store.path, '{"current":"main","profiles":{"main":{"url":1}}}');
    await expect(store.read()).rejects.toThrow('is damaged');
  });

  it('takes only plain names of profiles', async () => {
    await expect(store.save('../x', MAIN)).rejects.toThrow('a profile name has');
    await expect(store.save('__proto__', MAIN)).resolves.toBeUndefined();
    expect(await findConnection({ profile: '__proto__' }, {}, store)).toEqual(MAIN);
  });
});
