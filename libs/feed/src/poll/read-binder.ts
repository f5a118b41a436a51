import { LRUCache } from 'lru-cache';
import type { UpstreamMessage } from '#upstream';
import type { ComparedMessage } from '../diff/compared-message.js';
import { fieldSetOf } from '../form/fingerprint.js';
import { mayFieldsHaveChanged } from '../form/message-form.js';
import type { BoundSend, SendBinder } from '../ports.js';
import type { PagesRead } from '../walk/pages-read.js';
import type { PollStart } from './poll-start.js';

/** Maximum number of contacts in the cache `uncommittedSends`. */
const MAX_UNCOMMITTED = 1_000;
/**
 * Time for which the cache `uncommittedSends` keeps the sends of a contact, in milliseconds. Normally, the contact is
 * read again within this time.
 */
const UNCOMMITTED_TTL_MS = 60_000;

/** A contact of an account. */
type Contact = Pick<PollStart, 'account' | 'contactId'>;

/** The sends that messages of a contact belong to, by message id. */
interface SendsOfRead {
  /** The sends of the messages that were read, and {@link uncommitted}. */
  sends: ReadonlyMap<string, BoundSend>;
  /** The sends of messages that earlier reads found and that no commit contains yet. */
  uncommitted: ReadonlyMap<string, BoundSend>;
}

/** Binds the messages of reads to sends, and remembers the sends until their messages are committed. */
export class ReadBinder {
  /**
   * For each contact, the sends that were bound to its messages, by message id. A send is kept until a commit
   * contains its message, because a commit may fail, or may be refused because another worker committed first. That
   * worker may not have bound the message, for example because it read the message with another text.
   */
  private readonly uncommittedSends = new LRUCache<string, ReadonlyMap<string, BoundSend>>({
    max: MAX_UNCOMMITTED,
    ttl: UNCOMMITTED_TTL_MS,
  });

  constructor(private readonly binder: SendBinder) {}

  /** Binds the messages of a read to sends. */
  async bind(
    start: PollStart,
    reading: PagesRead,
    compared: readonly ComparedMessage[],
  ): Promise<SendsOfRead> {
    const uncommitted = this.uncommittedSends.get(keyOf(start)) ?? new Map<string, BoundSend>();
    const found = await this.sendsIn(start, reading, compared);
    const sends = new Map([...uncommitted, ...found]);
    if (found.size > 0) this.uncommittedSends.set(keyOf(start), sends);
    return { sends, uncommitted };
  }

  /**
   * True if sends were bound to messages of the contact, but no commit contains these messages yet. The next read
   * must then commit the messages even if they have not changed.
   */
  hasUncommittedSends(contact: Contact): boolean {
    return this.uncommittedSends.has(keyOf(contact));
  }

  /** Discards the remembered sends of messages that were committed. */
  forget(contact: Contact, committed: readonly UpstreamMessage[]): void {
    const left = new Map(this.uncommittedSends.get(keyOf(contact)));
    for (const { id } of committed) left.delete(id);
    if (left.size > 0) this.uncommittedSends.set(keyOf(contact), left);
    else this.uncommittedSends.delete(keyOf(contact));
  }

  private async sendsIn(
    { account, contactId, state, lookup }: PollStart,
    { upstreamAheadMs }: PagesRead,
    compared: readonly ComparedMessage[],
  ): Promise<ReadonlyMap<string, BoundSend>> {
    if (compared.length === 0) return new Map();
    const outbound = compared.filter(({ message }) => message.direction === 'outbound');
    const messagesWith = (wanted: ChangeForBinder): UpstreamMessage[] =>
      outbound.filter((one) => changeForBinder(one) === wanted).map(({ message }) => message);
    const observed = compared.map(({ message }) => message);
    lookup?.add(contactId, observed, upstreamAheadMs);
    return this.binder.bind({
      account,
      contactId,
      newMessages: messagesWith('new'),
      editedMessages: messagesWith('edited'),
      otherChangedMessages: messagesWith('other'),
      ...{ upstreamAheadMs, readAt: state.now, messagesRead: observed.length },
      ...(lookup === undefined ? {} : { lookup }),
    });
  }
}

/** Fields of a message that are compared with sends to find out which send the message belongs to. */
const MATCHED_FIELDS = fieldSetOf('to', 'direction', 'message', 'attachments');
/**
 * Fields that are compared with sends if the message's timestamp was unknown before. If the timestamp was known,
 * the message has been compared with the sends already, and a new timestamp is no reason to compare it again.
 */
const MATCHED_FIELDS_AND_TIMESTAMP = MATCHED_FIELDS | fieldSetOf('timestamp');

/**
 * How a message changed, for matching messages with sends. `new`: the message was not known before. `edited`: a field
 * that the matching compares may have changed. `other`: only a flag or another field changed, or the message was
 * deleted and appeared again. `none`: the message has not changed.
 */
type ChangeForBinder = 'new' | 'edited' | 'other' | 'none';

function changeForBinder({ message, before, form }: ComparedMessage): ChangeForBinder {
  if (before === undefined || form === undefined) return 'new';
  const matchedFields = before.timestamp === undefined ? MATCHED_FIELDS_AND_TIMESTAMP : MATCHED_FIELDS;
  if (mayFieldsHaveChanged(form, matchedFields)) return 'edited';
  const { delivered, read, deleted } = before;
  const isOther = delivered !== message.delivered || read !== message.read || deleted || form.isChanged;
  return isOther ? 'other' : 'none';
}

function keyOf({ account, contactId }: Contact): string {
  return `${account}\n${contactId}`;
}
