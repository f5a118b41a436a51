import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseContact, type UpstreamContact } from './contact.js';
import { KeptTexts } from './kept-texts.js';
import { ListScanner, type ScannedElement } from './list-scanner.js';
import { parseElement } from './reply-list.js';

/** A longer contact list is not read; in bytes, and in elements. */
export const MAX_LIST_BYTES = 256 * 1024 * 1024;
export const MAX_LIST_ELEMENTS = 1_000_000;

/** Looks at the contacts of a list while it comes. */
export interface ContactReader {
  /**
   * One contact, in the order of the list; `position` counts up. Answers whether it is wanted once more, when the list
   * is known to be whole. Nothing may follow from what is seen before that.
   */
  see(contact: UpstreamContact, position: number): boolean;
}

/** A contact that a {@link ContactReader} wanted once more. */
export interface WantedContact {
  contact: UpstreamContact;
  position: number;
}

/**
 * A contact list that was read to its end. It may be larger than memory: its contacts were shown to the reader one by
 * one, and only those that it wanted can be had again. Close it in any case.
 */
export interface ContactList<R extends ContactReader = ContactReader> {
  /** Whose list it is: the stamp of its address. */
  upstream: string;
  /** The reader, which has seen all contacts. */
  reader: R;
  /** How many elements could not be read. */
  skipped: number;
  /** Upstream's clock when it answered, in milliseconds since 1970, if it said so. */
  date?: number;
  /** The contacts that the reader wanted, in the order of the list, some at a time. */
  wanted(): AsyncIterable<readonly WantedContact[]>;
  close(): Promise<void>;
}

/** Reads a contact list while its bytes come. */
export class ContactListReader<R extends ContactReader> {
  /** By their numbers; which of the lists of a reply is meant is known only at the end. */
  private readonly lists = new Map<number, { reader: R; skipped: number; position: number }>();
  private readonly kept = new KeptTexts();
  private readonly scanner = new ListScanner(MAX_LIST_ELEMENTS, (element) => {
    this.take(element);
  });

  /** @param newReader is called for each list that the reply holds */
  constructor(private readonly newReader: () => R) {}

  /** @throws {UpstreamReplyError} if it cannot be the next part of a reply that holds a list, or cannot be kept */
  async push(chunk: Buffer): Promise<void> {
    this.scanner.push(chunk);
    await this.kept.settle();
  }

  /** @throws {UpstreamReplyError} if the reply holds no contact list, or did not end */
  end(): Omit<ContactList<R>, 'upstream' | 'date'> {
    const number = this.scanner.end('contacts');
    const { reader, skipped } = this.listOf(number);
    return {
      reader,
      skipped,
      wanted: () => this.wanted(number),
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    await this.kept.close();
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
    if (into.reader.see(contact, position)) this.kept.add({ list, position, text: bytes });
  }

  private async *wanted(number: number): AsyncGenerator<WantedContact[]> {
    for await (const batch of this.kept.read()) {
      const contacts = batch.flatMap(({ list, position, text }): WantedContact[] => {
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
