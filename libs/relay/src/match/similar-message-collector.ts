import type { UpstreamMessage } from '#upstream';
import { normalizeText } from './normalize-text.js';
import type { LookupReads } from '../ports.js';
import type { RelayStore } from '../send/relay-store.js';
import { MAX_CANDIDATES_PER_LOOKUP, type StoredCandidate } from '../send/stored-lookup.js';
import {
  MAX_REDIS_CLOCK_STEP_MS,
  mayHaveLostPost,
  UPSTREAM_CLOCK_TOLERANCE_MS,
  upstreamTimeOfFirstPostWithoutBoundMessage,
  boundMessagesOf,
  type SendRecord,
} from '../send/send-record.js';

/**
 * Maximum time by which a message with the text of a send may be older than the send's POST, in milliseconds. Older
 * messages are ignored, because some texts are sent every day. For an exception, see {@link maxBeforePostMs}.
 */
const MAX_BEFORE_POST_MS = 3_600_000;

/**
 * Reason why a look-up did not record a similar message (candidate) as the send's message: by its timestamp, the
 * message is older than the send's POST.
 */
export const SENT_BEFORE_POST_REASON = 'The message was sent before this send was posted.';

/** A message with the same text as a send, and the contact that it was read from. */
interface SimilarMessage {
  contactId: string;
  message: UpstreamMessage;
  /**
   * Time from the POST of the send to the timestamp of the message, in milliseconds. Negative if the timestamp is
   * earlier than the POST. Undefined if the message has no timestamp.
   */
  afterPostMs: number | undefined;
}

/**
 * Counts the messages that a look-up reads, and collects those that resemble the sends of the look-up. For each send,
 * keeps only the few messages that are closest in time to the POST of the send.
 */
export class SimilarMessageCollector implements LookupReads {
  readonly contactIds: string[] = [];
  messagesRead = 0;
  private readonly sendsByText = new Map<string, SendRecord[]>();
  /**
   * The similar messages of each send, by the send's id. The key is not the record of the send, because the record
   * may be replaced during the look-up.
   */
  private readonly similar = new Map<string, SimilarMessage[]>();

  constructor(private readonly sends: readonly SendRecord[]) {
    for (const record of sends) {
      const text = normalizeText(record.order.message ?? '');
      this.sendsByText.set(text, [...(this.sendsByText.get(text) ?? []), record]);
    }
  }

  add(contactId: string, messages: readonly UpstreamMessage[], upstreamAheadMs: number): void {
    if (!this.contactIds.includes(contactId)) this.contactIds.push(contactId);
    this.messagesRead += messages.length;
    const postedAt = (record: SendRecord): number =>
      upstreamTimeOfFirstPostWithoutBoundMessage(record, upstreamAheadMs);
    const earliest = Math.min(...this.sends.map((record) => postedAt(record) - maxBeforePostMs(record)));
    for (const message of messages) {
      const { direction, timestamp, body, attachments } = message;
      if (direction !== 'outbound' || (timestamp !== undefined && timestamp < earliest)) continue;
      const text = normalizeText(body);
      // A message with neither text nor attachments cannot be compared with a send.
      if (text === '' && attachments === 0) continue;
      for (const record of this.sendsByText.get(text) ?? []) {
        const afterPostMs = timestamp === undefined ? undefined : timestamp - postedAt(record);
        this.keepClosest(record, { contactId, message, afterPostMs });
      }
    }
  }

  private keepClosest(record: SendRecord, one: SimilarMessage): void {
    const { contactId, message, afterPostMs = 0 } = one;
    if (message.to !== undefined && message.to !== record.order.phoneNumber) return;
    if (afterPostMs < -maxBeforePostMs(record)) return;
    // If a message is read twice, keep only the version that was read last.
    const others = (this.similar.get(record.order.id) ?? []).filter(
      (other) => other.contactId !== contactId || other.message.id !== message.id,
    );
    const closest = [...others, one].sort((a, b) => distance(a) - distance(b));
    this.similar.set(record.order.id, closest.slice(0, MAX_CANDIDATES_PER_LOOKUP));
  }

  /**
   * Returns the messages that resemble a send, oldest first, each with the reason why it was not recorded as the
   * send's message.
   */
  async candidatesOf(store: RelayStore, account: string, record: SendRecord): Promise<StoredCandidate[]> {
    const own = boundMessagesOf(record.state);
    const similar = (this.similar.get(record.order.id) ?? []).filter(
      ({ contactId, message }) =>
        !own.some((bound) => bound.contactId === contactId && bound.messageId === message.id),
    );
    const candidates: StoredCandidate[] = [];
    for (const contactId of new Set(similar.map((one) => one.contactId))) {
      const ofContact = similar.filter((one) => one.contactId === contactId);
      const ids = ofContact.map(({ message }) => message.id);
      const owners = await store.boundSends(account, contactId, ids);
      for (const one of ofContact) {
        const owner = owners.get(one.message.id)?.sendId;
        if (owner !== record.order.id) candidates.push(candidateOf(one, record, owner));
      }
    }
    return candidates.sort((a, b) => (a.sentAt ?? Infinity) - (b.sentAt ?? Infinity) || 0);
  }
}

/**
 * Returns by how much a message with the text of a send may be older than the send's POST, in milliseconds. The limit
 * is higher if Redis may have lost the record of the POST and no clock difference was stored with the send, because
 * Redis' clock may then have been set back.
 */
function maxBeforePostMs({ order, state }: SendRecord): number {
  const isClockUnknown = mayHaveLostPost(state) && order.upstreamAheadMs === undefined;
  return isClockUnknown ? MAX_REDIS_CLOCK_STEP_MS : MAX_BEFORE_POST_MS;
}

function distance({ afterPostMs }: SimilarMessage): number {
  return afterPostMs === undefined ? Number.MAX_VALUE : Math.abs(afterPostMs);
}

function candidateOf(
  { contactId, message, afterPostMs = 0 }: SimilarMessage,
  { order }: SendRecord,
  owner: string | undefined,
): StoredCandidate {
  const attachments = Number(order.file !== undefined) + Number(order.fileUrl !== undefined);
  const reason =
    owner !== undefined
      ? 'The message belongs to another send.'
      : afterPostMs < -UPSTREAM_CLOCK_TOLERANCE_MS
        ? SENT_BEFORE_POST_REASON
        : message.attachments !== attachments
          ? 'The message has a different number of attachments.'
          : message.to === undefined
            ? 'The recipient of the message is unknown.'
            : 'The message was already known before this look-up.';
  return {
    ...{ contactId, messageId: message.id, reason },
    ...(message.timestamp === undefined ? {} : { sentAt: message.timestamp }),
    ...(owner === undefined ? {} : { sendId: owner }),
  };
}
