import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseContact, type UpstreamContact } from './contact.js';
import { TemporaryReplyElementStore } from './temporary-reply-element-store.js';
import { JsonListScanner, type ScannedElement } from './json-list-scanner.js';
import { parseListElement } from './reply-json.js';

/** Maximum size of a contact list, in bytes; see also {@link MAX_CONTACT_LIST_ELEMENTS}. */
export const MAX_CONTACT_LIST_BYTES = 256 * 1024 * 1024;
/** Maximum number of elements in a contact list. */
const MAX_CONTACT_LIST_ELEMENTS = 1_000_000;

/** Receives the contacts of a contact list one by one, while the list is being read. */
export interface ContactReader {
  /**
   * Receives one contact, in the order of the list. This method must not yet act on the contact, because the list may
   * turn out to be incomplete. If it returns true, {@link ContactList.requestedContacts} yields the contact again
   * once the list is complete.
   * @param position index of the contact in the list, from 0; unreadable elements are not counted
   */
  receive(contact: UpstreamContact, position: number): boolean;
}

/** A contact that a {@link ContactReader} wants to receive again once the contact list is complete. */
export interface RequestedContact {
  contact: UpstreamContact;
  position: number;
}

/**
 * A contact list that was read completely. The whole list may be too large for memory, so only the contacts for which
 * {@link ContactReader.receive} returned true are stored, if necessary in a temporary file. The caller must close the
 * list, which deletes the stored contacts.
 */
export interface ContactList<R extends ContactReader = ContactReader> {
  /** Hash of the upstream address that the list came from. */
  upstream: string;
  /** The reader that has received all contacts of the list. */
  reader: R;
  /** Number of elements of the list that could not be read as contacts. */
  skipped: number;
  /**
   * When upstream answered, in milliseconds since 1970 by upstream's clock. Absent if the reply has no date.
   */
  date?: number;
  /**
   * Yields the contacts for which {@link ContactReader.receive} returned true, in batches, in the order of the list.
   */
  requestedContacts(): AsyncIterable<readonly RequestedContact[]>;
  close(): Promise<void>;
}

interface ListState<R> {
  /**
   * Undefined until the first contact of this list arrives. A reader may need memory for every known contact, and
   * most lists in a reply contain no contacts.
   */
  reader?: R;
  skipped: number;
  position: number;
}

/** Reads a contact list from a reply that arrives in chunks. */
export class ContactListReader<R extends ContactReader> {
  /**
   * State of each list in the reply, by the number of the list. The reply may contain several lists, and only its end
   * shows which list contains the contacts.
   */
  private readonly lists = new Map<number, ListState<R>>();
  private readonly spool = new TemporaryReplyElementStore();
  private readonly scanner = new JsonListScanner('contacts', MAX_CONTACT_LIST_ELEMENTS, (element) => {
    this.take(element);
  });

  /**
   * @param newReader creates a reader; called once for each list that contains a readable contact, and for the
   * returned list
   */
  constructor(private readonly newReader: () => R) {}

  /**
   * Reads the next chunk of the reply.
   * @throws {UpstreamReplyUnreadableError} if the chunk makes the reply invalid, or if the contacts cannot be stored
   * in a file
   */
  async push(chunk: Buffer): Promise<void> {
    this.scanner.push(chunk);
    await this.spool.flush();
  }

  /**
   * Ends the reading and returns the contact list.
   * @throws {UpstreamReplyUnreadableError} if the reply has no contact list or is incomplete
   */
  end(): Omit<ContactList<R>, 'upstream' | 'date'> {
    const number = this.scanner.end();
    const { reader = this.newReader(), skipped } = this.listOf(number);
    return {
      reader,
      skipped,
      requestedContacts: () => this.wanted(number),
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    await this.spool.close();
  }

  private take({ list, bytes, readable }: ScannedElement): void {
    const into = this.listOf(list);
    const contact = readable ? parseContact(parseListElement(bytes)) : undefined;
    if (contact === undefined) {
      into.skipped += 1;
      return;
    }
    const { position } = into;
    into.position += 1;
    into.reader ??= this.newReader();
    if (into.reader.receive(contact, position)) this.spool.add({ list, position, text: bytes });
  }

  private async *wanted(number: number): AsyncGenerator<RequestedContact[]> {
    for await (const batch of this.spool.read()) {
      const contacts = batch.flatMap(({ list, position, text }): RequestedContact[] => {
        const contact = list === number ? parseContact(parseListElement(text)) : undefined;
        return contact === undefined ? [] : [{ contact, position }];
      });
      if (contacts.length > 0) yield contacts;
      await nextTurn();
    }
  }

  private listOf(number: number): ListState<R> {
    const list = this.lists.get(number) ?? { skipped: 0, position: 0 };
    this.lists.set(number, list);
    return list;
  }
}
