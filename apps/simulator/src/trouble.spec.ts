import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RunningSimulator } from './testing/running-simulator.js';
import { onlyContactId, startSimulator } from './testing/running-simulator.js';

interface ServedItem {
  id: string;
  timestamp: string;
  nested?: unknown;
}

let upstream: RunningSimulator;
let ids: string[];

beforeEach(async () => {
  upstream = await startSimulator();
  const made = upstream.simulator.control('messages', { from: '+15551234567', count: 30, intervalMs: 1_000 });
  ids = (made as { ids: string[] }).ids.toReversed();
});

afterEach(() => upstream.stop());

const changeSettings = (settings: object): object => upstream.simulator.control('settings', settings);
const path = (): string => `/contacts/${onlyContactId(upstream)}/messages`;
const status = async (query: string): Promise<number> => (await upstream.get(path() + query)).status;

async function page(query: string): Promise<ServedItem[]> {
  return ((await upstream.getJson(path() + query)) as { messages: ServedItem[] }).messages;
}

/** Returns the number of nesting levels of a value. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (let inner = value; typeof inner === 'object' && inner !== null; depth += 1)
    [inner] = Object.values(inner) as unknown[];
  return depth;
}

describe('a message that the simulator cannot serialise', () => {
  it('causes status 500 for exactly the pages that contain it, at any page size', async () => {
    changeSettings({ failingMessageIds: [ids[25]] });
    expect(await status('?page=1&limit=20')).toBe(200);
    expect(await status('?page=2&limit=20')).toBe(500);
    expect(await status('?page=1&limit=100')).toBe(500);
    expect(await status('?page=3&limit=10')).toBe(500);
    expect(await status('?page=26&limit=1')).toBe(500);
    expect((await page('?page=27&limit=1')).map(({ id }) => id)).toEqual([ids[26]]);
  });

  it('moves to the next page when a new message arrives, and is served again after its id is removed from the setting failingMessageIds', async () => {
    changeSettings({ failingMessageIds: [ids[19]] });
    expect(await status('?page=1&limit=20')).toBe(500);
    upstream.simulator.control('messages', { contactId: onlyContactId(upstream) });
    expect(await status('?page=1&limit=20')).toBe(200);
    expect(await status('?page=2&limit=20')).toBe(500);
    changeSettings({ failingMessageIds: [] });
    expect(await status('?page=2&limit=20')).toBe(200);
  });

  it('is not recorded as served while the pages that contain it fail', async () => {
    changeSettings({ failingMessageIds: [ids[0]] });
    await status('?page=1&limit=20');
    expect(upstream.simulator.ledger.read({ kinds: ['list.served'] }).entries).toEqual([]);
  });
});

describe('the simulator', () => {
  it.each([4_000, 200_000])('serves a message with a field of %i nesting levels as JSON', async (levels) => {
    changeSettings({ deepField: { ids: [ids[3]], levels } });
    const text = await (await upstream.get(`${path()}?page=1&limit=20`)).text();
    expect(text.split('{"in":')).toHaveLength(levels + 1);
    expect(text).toContain(`null${'}'.repeat(levels)}`);
  });

  it('serves a contact with a deeply nested field in the contact list', async () => {
    changeSettings({ deepField: { ids: [onlyContactId(upstream)], levels: 50 } });
    const { contacts } = (await upstream.getJson('/contacts')) as { contacts: ServedItem[] };
    expect(depthOf(contacts[0]?.nested)).toBe(50);
  });
});

describe('a message list of the simulator that never ends', () => {
  const endless = (fresh: boolean): object =>
    changeSettings({ endlessPages: { contactId: onlyContactId(upstream), fresh } });

  it('contains generated messages after the stored messages of the contact, each older than the message before', async () => {
    endless(false);
    const all = [...(await page('?page=1&limit=20')), ...(await page('?page=2&limit=20'))];
    expect(all.slice(0, 30).map(({ id }) => id)).toEqual(ids);
    const times = all.map(({ timestamp }) => timestamp);
    expect(times).toEqual(times.toSorted().reverse());
    expect(new Set(all.map(({ id }) => id)).size).toBe(40);
    expect(await page('?page=100000&limit=100')).toHaveLength(100);
  });

  it('contains the same messages in the same order at every page size', async () => {
    endless(false);
    const [tenth] = await page('?page=41&limit=1');
    expect((await page('?page=3&limit=20'))[0]).toEqual(tenth);
    expect((await page('?page=3&limit=20'))[0]).toEqual(tenth);
  });

  it('contains messages with new ids at each read if `fresh` is true', async () => {
    endless(true);
    const [one] = await page('?page=3&limit=20');
    const [other] = await page('?page=3&limit=20');
    expect(one?.id).not.toBe(other?.id);
  });
});

describe('the settings failingMessageIds, deepField and endlessPages of the simulator', () => {
  it.each([
    [{ failingMessageIds: [''] }, 'failingMessageIds[0]'],
    [{ deepField: { ids: ['a'], levels: 0 } }, 'deepField.levels'],
    [{ endlessPages: { contactId: '' } }, 'endlessPages.contactId'],
  ])('are rejected if invalid: %j', async (settings, field) => {
    expect(await upstream.control('settings', settings)).toMatchObject({ status: 400, body: { field } });
  });
});
