import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseContact, type UpstreamContact } from './contact.js';
import { TextSpool } from './text-spool.js';
import { ListScanner, type ScannedElement } from './list-scanner.js';
import { parseElement } from './reply-list.js';

/** Maximum size of a contact list, in bytes; see also {@link MAX_LIST_ELEMENTS}. */
export const MAX_LIST_BYTES = 256 * 1024 * 1024;
/** Maximum number of elements in a contact list. */
export const MAX_LIST_ELEMENTS = 1_000_000;

/** Receives the contacts of a list while the list is being read. */
export interface ContactReader {
  /**
   * Receives one contact, in the order of the list. Returns true to receive the contact again from {@link
   * ContactList.requestedContacts}, once the list is known to be complete. Until then, no conclusion is valid.
   * @param position index of the contact in the list, from 0
   */
  receive(contact: UpstreamContact, position: number): boolean;
}

/** A contact that its {@link ContactReader} asked to receive again. */
export interface RequestedContact {
  contact: UpstreamContact;
  position: number;
}

/**
 * A contact list that was read completely. It may be larger than memory: the reader saw its contacts one by
 * one, and only the requested ones can be read again. The caller must close the list.
 */
export interface ContactList<R extends ContactReader = ContactReader> {
  /** Hash of the upstream address that the list came from. */
  upstream: string;
  /** The reader, which has received all contacts. */
  reader: R;
  /** Number of elements that could not be read. */
  skipped: number;
  /**
   * When upstream answered, in milliseconds since 1970 by upstream's clock. Absent if the reply has no date.
   */
  date?: number;
  /** Yields the requested contacts, in the order of the list, in batches. */
  requestedContacts(): AsyncIterable<readonly RequestedContact[]>;
  close(): Promise<void>;
}

/** Reads a contact list as a stream. */
export class ContactListReader<R extends ContactReader> {
  /**
   * State of each list of the reply, by its number. Only the end of the reply shows which list holds the
   * contacts.
   */
  private readonly lists = new Map<number, { reader: R; skipped: number; position: number }>();
  private readonly spool = new TextSpool();
  private readonly scanner = new ListScanner(MAX_LIST_ELEMENTS, (element) => {
    this.take(element);
  });

  /** @param newReader called once for each list in the reply */
  constructor(private readonly newReader: () => R) {}

  /**
   * @throws {UpstreamReplyError} if the chunk cannot continue a reply with a list, or the contacts cannot be
   * stored
   */
  async push(chunk: Buffer): Promise<void> {
    this.scanner.push(chunk);
    await this.spool.flush();
  }

  /** @throws {UpstreamReplyError} if the reply has no contact list or is incomplete */
  end(): Omit<ContactList<R>, 'upstream' | 'date'> {
    const number = this.scanner.end('contacts');
    const { reader, skipped } = this.listOf(number);
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
    const contact = readable ? parseContact(parseElement(bytes)) : undefined;
    if (contact === undefined) {
      into.skipped += 1;
      return;
    }
    const { position } = into;
    into.position += 1;
    if (into.reader.receive(contact, position)) this.spool.add({ list, position, text: bytes });
  }

  private async *wanted(number: number): AsyncGenerator<RequestedContact[]> {
    for await (const batch of this.spool.read()) {
      const contacts = batch.flatMap(({ list, position, text }): RequestedContact[] => {
        const contact = list === number ? parseContact(parseElement(text)) : undefined;
        return contact === undefined ? [] : [{ contact, position }];
      });
      if (contacts.length > 0) yield contacts;
      await nextTurn();
    }
  }

  private listOf(number: number): { reader: R; skipped: number; position: number } {
    const list = this.lists.get(number) ?? { reader: this.newReader(), skipped: 0, position: 0 };
    this.lists.set(number, list);
    return list;
  }
}
