import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ContactListPoller } from '#feed';
import { HttpUpstream, UpstreamError } from '#upstream';
import { contactIdOf, ListServer, type ServedList } from '../../support/list-server.js';
import { ACCOUNT } from './feed-harness.js';
import { WithFeedHarness } from './with-feed-harness.js';

const here = new WithFeedHarness();
/** Larger than the limit of other responses, 16 MB. */
const TWENTY_MEGABYTES: ServedList = { count: 20_000, bytes: 1_024 };
/** Larger than what is kept in memory. */
const SIX_MEGABYTES: ServedList = { count: 6_000, bytes: 1_024 };
/** Timeout of an exchange with upstream, in milliseconds; long enough for a busy machine. */
const TIMEOUT_MS = 60_000;

let server: ListServer;
let upstream: HttpUpstream;
let poll: ContactListPoller;

beforeEach(async () => {
  server = await ListServer.start();
  upstream = new HttpUpstream(TIMEOUT_MS);
  const address = { baseUrl: server.baseUrl, apiKey: 'k' };
  poll = new ContactListPoller(
    here.harness.store,
    {
      ...here.harness.source,
      listContacts: (_, __, newReader) => upstream.listContacts(address, newReader),
    },
    0,
  );
});
afterEach(async () => {
  upstream.close();
  await server.close();
});

async function read(list: ServedList): Promise<void> {
  server.list = list;
  await poll.poll(ACCOUNT);
}
const known = (): ReturnType<typeof here.harness.store.contactListSnapshot> =>
  here.harness.store.contactListSnapshot(ACCOUNT);

describe('a contact list of 20 MB', () => {
  it('makes all its contacts due for a poll at the first read, and changes nothing at a second read', async () => {
    await read(TWENTY_MEGABYTES);
    const { version, contacts, listedAt } = await known();
    expect([contacts.size, listedAt]).toEqual([TWENTY_MEGABYTES.count, expect.any(Number)]);
    expect((await here.harness.store.overview(ACCOUNT)).due).toBe(TWENTY_MEGABYTES.count);
    const record = await here.harness.store.contactRecord(ACCOUNT, contactIdOf(19_999));
    expect(JSON.parse(record?.raw ?? '{}')).toMatchObject({ phoneNumber: '+15550019999' });
    await read(TWENTY_MEGABYTES);
    expect((await known()).version).toBe(version);
    expect(await here.harness.eventTypes()).toEqual([]);
  });
});

describe('a contact list of 6 MB', () => {
  it('causes one contact.created for each of 1,000 new contacts', async () => {
    await read({ ...SIX_MEGABYTES, count: 5_000 });
    await read({ ...SIX_MEGABYTES });
    const emitted = await here.harness.deliveredEvents();
    expect(emitted).toHaveLength(1_000);
    expect(new Set(emitted.map(({ type }) => type))).toEqual(new Set(['contact.created']));
    expect(new Set(emitted.map(({ contactId }) => contactId)).size).toBe(1_000);
  });

  it.each(['connection', 'body'] as const)(
    'that arrives incomplete is rejected and changes no stored contact (cut off: %s)',
    async (how) => {
      await read({ ...SIX_MEGABYTES, count: 4_500 });
      const before = await known();
      const cut = { after: 5_500, how };
      await expect(read({ ...SIX_MEGABYTES, note: 'changed', cut })).rejects.toThrow(UpstreamError);
      const after = await known();
      expect({ ...after, now: before.now }).toEqual(before);
      expect(await here.harness.eventTypes()).toEqual([]);
    },
  );
});

describe('a contact with JSON nested 4,000 levels deep', () => {
  const poison = { at: 1, json: `{"id":"deep","x":${'['.repeat(4_000)}${']'.repeat(4_000)}}` };

  it('is skipped, and all other contacts are read', async () => {
    await read({ count: 3, bytes: 100, poison });
    const { contacts, skipped } = await known();
    expect([...contacts.keys()].sort()).toEqual([contactIdOf(0), contactIdOf(2)]);
    expect(skipped).toBe(1);
  });

  it('causes no contact.deleted for a known contact, because the unreadable element may be that contact', async () => {
    await read({ count: 3, bytes: 100 });
    for (let reads = 0; reads < 3; reads += 1) await read({ count: 3, bytes: 100, poison });
    expect(await here.harness.eventTypes()).toEqual([]);
  });
});

describe('a contact list that cannot be read', () => {
  it('changes no stored contact, and the polling status shows the reason and the start of the failure until a read succeeds', async () => {
    await read({ count: 3, bytes: 100 });
    expect(await here.harness.store.overview(ACCOUNT)).not.toHaveProperty('listFault');
    // One element more than the maximum, in 2 MB.
    const envelope = [`[${'0,'.repeat(1_000_001)}`, '0]'] as const;
    for (let reads = 0; reads < 2; reads += 1) {
      await expect(read({ count: 0, bytes: 0, envelope })).rejects.toThrow('more than 1000000 elements');
    }
    const { listFault, contacts } = await here.harness.store.overview(ACCOUNT);
    expect(listFault?.reason).toContain('more than 1000000 elements');
    expect(Math.abs((listFault?.since ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(contacts).toBe(3);
    await expect(read({ count: 2, bytes: 100, cut: { after: 1, how: 'connection' } })).rejects.toThrow();
    expect((await here.harness.store.overview(ACCOUNT)).listFault?.since).toBe(listFault?.since);
    await read({ count: 3, bytes: 100 });
    expect(await here.harness.store.overview(ACCOUNT)).not.toHaveProperty('listFault');
    expect((await known()).contacts.size).toBe(3);
  });
});
