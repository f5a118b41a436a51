import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
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

describe('the connection of a command to a gateway', () => {
  it('uses the current profile, unless an option or TIDINGS_PROFILE names another profile', async () => {
    await store.save('main', MAIN);
    await store.save('test', { url: 'http://10.0.0.7:3000', apiKey: 'tk_test' });
    expect(await findConnection({}, {}, store)).toEqual({ url: 'http://10.0.0.7:3000', apiKey: 'tk_test' });
    expect(await findConnection({ profile: 'main' }, {}, store)).toEqual(MAIN);
    expect(await findConnection({}, { TIDINGS_PROFILE: 'main' }, store)).toEqual(MAIN);
    await store.use('main');
    expect(await findConnection({}, {}, store)).toEqual(MAIN);
    await expect(findConnection({ profile: 'other' }, {}, store)).rejects.toThrow(
      'there is no profile other; stored profiles: main, test',
    );
  });

  it('uses the API key in TIDINGS_API_KEY instead of a stored API key', async () => {
    await store.save('main', MAIN);
    expect(await findConnection({}, { TIDINGS_API_KEY: 'tk_other' }, store)).toEqual({
      ...MAIN,
      apiKey: 'tk_other',
    });
  });

  it('never uses an API key that was stored for another address', async () => {
    await store.save('main', MAIN);
    for (const url of [
      'https://elsewhere.example',
      'http://tidings.internal',
      'https://tidings.internal:8443',
    ])
      await expect(findConnection({ url }, {}, store)).rejects.toThrow(`there is no API key for ${url}`);
    expect(await findConnection({ url: 'https://tidings.internal/' }, {}, store)).toEqual(MAIN);
  });

  it('uses the API key that npm start created if no API key is stored, but only for the gateway that npm start started', async () => {
    const local = { TIDINGS_CHECKOUT_KEY: 'tk_local', TIDINGS_CHECKOUT_URL: 'http://127.0.0.1:3000' };
    expect(await findConnection({}, local, store)).toEqual({
      url: 'http://127.0.0.1:3000',
      apiKey: 'tk_local',
    });
    await expect(findConnection({ url: 'http://127.0.0.1:3999' }, local, store)).rejects.toThrow(
      'there is no API key',
    );
  });

  it('leads to the gateway that npm start runs if the current profile was removed, even if other profiles are stored', async () => {
    const local = { TIDINGS_CHECKOUT_KEY: 'tk_local', TIDINGS_CHECKOUT_URL: 'http://127.0.0.1:3000' };
    for (const name of ['default', 'prod', 'staging']) await store.save(name, MAIN);
    await store.remove('prod');
    expect(await findConnection({}, local, store)).toEqual(MAIN);
    await store.remove('staging');
    expect(await findConnection({}, local, store)).toMatchObject({ apiKey: 'tk_local' });
  });

  it('does not read the profiles if TIDINGS_URL and TIDINGS_API_KEY are set and no profile is named, so a file that would be rejected does not matter', async () => {
    const environment = { TIDINGS_URL: MAIN.url, TIDINGS_API_KEY: MAIN.apiKey };
    await store.save('main', { url: 'https://elsewhere.example', apiKey: 'tk_other' });
    await chmod(store.path, 0o644);
    expect(await findConnection({}, environment, store)).toEqual(MAIN);
    await expect(findConnection({ profile: 'main' }, environment, store)).rejects.toThrow('chmod 600');
  });

  it.each(['tidings.internal', 'ftp://tidings.internal', 'https://user:secret@tidings.internal'])(
    'is rejected for the invalid address %s',
    async (url) => {
      await expect(findConnection({ url }, { TIDINGS_API_KEY: 'tk' }, store)).rejects.toThrow(
        'is not the address',
      );
    },
  );
});

describe('the file with the profiles of the command line', () => {
  it('is rejected if other users can read the file, or if the file is damaged', async () => {
    await store.save('main', MAIN);
    await chmod(store.path, 0o644);
    await expect(store.read()).rejects.toThrow(`run: chmod 600 ${store.path}`);
    await chmod(store.path, 0o600);
    await writeFile(store.path, '{"current":"main","profiles":{"main":{"url":1}}}');
    await expect(store.read()).rejects.toThrow('is damaged');
  });

  it('is read as empty if its folder cannot exist, for example because the home directory is /dev/null', async () => {
    const { profiles } = await ProfileStore.ofUser({ HOME: '/dev/null' }).read();
    expect(profiles).toEqual({});
  });

  it('loses no change if profiles are stored and removed at the same time', async () => {
    await store.save('old', MAIN);
    const names = Array.from({ length: 10 }, (_, index) => `p${index}`);
    await Promise.all([store.remove('old'), ...names.map((name) => store.save(name, MAIN))]);
    expect(Object.keys((await store.read()).profiles).toSorted()).toEqual(names);
    expect(await readdir(folder)).toEqual(['profiles.json']);
  });

  it('cannot be changed while a lock file of another command exists, and the error says when to delete the lock file', async () => {
    const impatient = new ProfileStore(store.path, 1);
    await writeFile(`${store.path}.lock`, '');
    await expect(impatient.save('main', MAIN)).rejects.toThrow(
      `if no other tidings command is running, delete ${store.path}.lock`,
    );
  });

  it('rejects a profile name that is a path, and accepts the name __proto__', async () => {
    await expect(store.save('../x', MAIN)).rejects.toThrow('a profile name has');
    await expect(store.save('__proto__', MAIN)).resolves.toBeUndefined();
    expect(await findConnection({ profile: '__proto__' }, {}, store)).toEqual(MAIN);
  });
});
