import { Readable } from 'node:stream';
import type { ContactList, ContactReader, UpstreamContact, RequestedContact } from '#upstream';

/** A reader that accepts every contact. */
export const acceptEveryContact = (): ContactReader => ({ receive: () => true });

/** Reads a contact list to its end, and closes it. */
export async function readAll(
  reading: Promise<ContactList>,
): Promise<{ items: UpstreamContact[]; skipped: number; date?: number }> {
  const list = await reading;
  try {
    const items: UpstreamContact[] = [];
    for await (const wanted of list.requestedContacts()) items.push(...wanted.map(({ contact }) => contact));
    return { items, skipped: list.skipped, ...(list.date === undefined ? {} : { date: list.date }) };
  } finally {
    await list.close();
  }
}

/** Creates a contact list as if it had been read from upstream. */
export function contactListOf<R extends ContactReader>(
  contacts: readonly UpstreamContact[],
  newReader: () => R,
  date?: number,
): ContactList<R> {
  const reader = newReader();
  const wanted = contacts.flatMap((contact, position): RequestedContact[] =>
    reader.receive(contact, position) ? [{ contact, position }] : [],
  );
  return {
    upstream: 'test',
    reader,
    skipped: 0,
    ...(date === undefined ? {} : { date }),
    requestedContacts: () => Readable.from([wanted]),
    close: () => Promise.resolve(),
  };
}
