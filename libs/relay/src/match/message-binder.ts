import { type Logger, traceIdLogField } from '#platform';
import type { UpstreamMessage } from '#upstream';
import { type Match, matchMessagesToSends, type UndecidedMatch } from './message-match.js';
import type { LookupReads } from '../ports.js';
import { type BoundSend, boundSendOf, type RelayStore, type StateChange } from '../send/relay-store.js';
import { findTransitionResult } from '../send/send-transitions.js';
import type { StoredLookup } from '../send/stored-lookup.js';
import {
  type SendRecord,
  fieldsKeptAcrossTransitions,
  appendLookupToSend,
  mayHaveLostPost,
  REDIS_CLOCK_TOLERANCE_MS,
  upstreamTimeOfFirstPostWithoutBoundMessage,
} from '../send/send-record.js';

/** Outbound messages of one contact that a poll found to be new or changed. */
export interface Sightings {
  account: string;
  contactId: string;
  /** Messages that were not known before this poll, oldest first. */
  newMessages: readonly UpstreamMessage[];
  /**
   * Known messages of which the recipient, direction, text or attachments may have changed since an earlier poll, or
   * whose timestamp was not known before.
   */
  editedMessages: readonly UpstreamMessage[];
  /**
   * Known messages of which only flags or other fields have changed since an earlier poll, and messages that had been
   * deleted and appeared again. They are not matched with sends.
   */
  otherChangedMessages: readonly UpstreamMessage[];
  /** How far upstream's clock is ahead of Redis' clock, in milliseconds; 0 if unknown. */
  upstreamAheadMs: number;
  /** When the read of the messages started, in milliseconds since 1970 by Redis' clock. */
  readAt: number;
  /** Number of messages that were read, including those that are neither new nor changed. */
  messagesRead: number;
  /** What the look-up has read so far, if the messages were read because of a look-up. */
  lookup?: Pick<LookupReads, 'contactIds' | 'messagesRead'>;
}

/**
 * Maximum number of posted sends to one recipient that are compared with new messages. If more posted sends wait for
 * a message, the oldest are ignored, because sends whose messages never appear must not block later sends.
 */
const MAX_AWAITING = 1_000;

/**
 * Maximum number of tries to update sends that other processes change at the same time. After that, the poll fails,
 * and the next poll retries.
 */
const MAX_CONFLICTS = 10;

const AMBIGUOUS_CANDIDATE = 'Other messages fit this send equally well.';
const AMBIGUOUS_MATCH =
  'Upstream shows several messages that may belong to this send, and it is unknown which of them does.';

/**
 * Records which message belongs to which send, and updates the sends' statuses from the messages' flags (delivered,
 * read).
 */
export class MessageBinder {
  constructor(
    private readonly store: RelayStore,
    private readonly logger: Logger,
  ) {}

  /**
   * Finds and records the sends that a poll's messages belong to, and updates the statuses of these sends from the
   * messages' flags. Returns these sends by message id. A repeated call returns the same result.
   */
  async bind(sightings: Sightings): Promise<ReadonlyMap<string, BoundSend>> {
    const { account, contactId, newMessages, editedMessages, otherChangedMessages } = sightings;
    const all = [...newMessages, ...editedMessages, ...otherChangedMessages];
    if (all.length === 0) return new Map();
    const bound = await this.store.boundSends(
      account,
      contactId,
      all.map(({ id }) => id),
    );
    for (const [recipient, messages] of byRecipient(candidates(newMessages, editedMessages, bound))) {
      await this.bindFresh(sightings, recipient, messages, bound);
    }
    for (const message of all) {
      const ours = bound.get(message.id);
      if (ours !== undefined && ours.duplicate !== true) await this.copyFlags(account, ours.sendId, message);
    }
    return bound;
  }

  /** Returns the sends that are already recorded for these messages, by message id. */
  sendsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, BoundSend>> {
    return this.store.boundSends(account, contactId, messageIds);
  }

  private async bindFresh(
    sightings: Sightings,
    recipient: string,
    messages: readonly UpstreamMessage[],
    bound: Map<string, BoundSend>,
  ): Promise<void> {
    const { account, contactId, upstreamAheadMs } = sightings;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS;) {
      const waiting = (await this.store.sendsAwaitingMessage(account, recipient, MAX_AWAITING)).filter(
        (record) => mayBePosted(record, sightings),
      );
      // First read the sends that wait for a message, then the messages that belong to no send. In the reverse order,
      // another poll could bind a message to its send between the two reads. The message could then be matched with a
      // wrong send.
      const withoutSend = await this.unbound(account, contactId, messages, bound);
      if (waiting.length === 0) return;
      const open = withoutSend.filter(({ id }) => !wasUndecided(contactId, id, waiting));
      const { matches, undecided } = matchMessagesToSends(open, waiting, upstreamAheadMs);
      if (matches.length === 0 && (await this.markUndecidedSendsUnknown(sightings, undecided))) return;
      // Count only the runs that failed because another process changed a send. A successful run is followed by
      // another run, because a send that was posted twice has two messages, and each run matches only one of them.
      if (matches.length === 0 || (await this.bindAll(sightings, matches, bound))) conflicts += 1;
    }
    throw new Error(
      `sends to the recipient of contact ${contactId} changed ${MAX_CONFLICTS} times while messages were bound`,
    );
  }

  /**
   * Returns the messages that belong to no send. For each message that belongs to a send, adds the send to `bound`.
   * @param bound sends by the id of their message
   */
  private async unbound(
    account: string,
    contactId: string,
    messages: readonly UpstreamMessage[],
    bound: Map<string, BoundSend>,
  ): Promise<UpstreamMessage[]> {
    const left = messages.filter(({ id }) => !bound.has(id));
    const claims = await this.store.boundSends(
      account,
      contactId,
      left.map(({ id }) => id),
    );
    for (const [id, send] of claims) bound.set(id, send);
    return left.filter(({ id }) => !bound.has(id));
  }

  /**
   * Records the message of each matched send. Returns true if a send changed meanwhile; the matching must then run
   * again.
   */
  private async bindAll(
    sightings: Sightings,
    matches: readonly Match[],
    bound: Map<string, BoundSend>,
  ): Promise<boolean> {
    const { account, contactId } = sightings;
    for (const { message, record } of matches) {
      const found = recordAfterRead(sightings, record, 'found');
      const done = await this.store.apply(account, record, matchChange(found, contactId, message.id));
      if (done === undefined) return true;
      const duplicate = record.state.messageId !== undefined;
      bound.set(message.id, boundSendOf(record.order, duplicate));
      this.logger.info(
        { account, sendId: record.order.id, messageId: message.id, ...traceIdLogField(record.order.trace) },
        'recorded which message belongs to a send',
      );
    }
    return false;
  }

  /**
   * Sets the status `unknown` for sends that have the status `relaying` and match several messages equally well.
   * Further look-ups do not help, because later polls do not report these messages as new. Another POST is not safe,
   * because the send may already have arrived. Returns false if a send changed meanwhile.
   */
  private async markUndecidedSendsUnknown(
    sightings: Sightings,
    undecided: readonly UndecidedMatch[],
  ): Promise<boolean> {
    const { account, contactId } = sightings;
    for (const { record, messages } of undecided) {
      if (record.state.status !== 'relaying') continue;
      const candidates = messages.map(({ id, timestamp }) => ({
        ...{ contactId, messageId: id, reason: AMBIGUOUS_CANDIDATE },
        ...(timestamp === undefined ? {} : { sentAt: timestamp }),
      }));
      const looked = recordAfterRead(sightings, record, 'ambiguous', candidates);
      const state = { ...fieldsKeptAcrossTransitions(looked.state), reason: AMBIGUOUS_MATCH };
      const change = {
        transition: 'marked_unknown',
        state,
        mayHaveLostPost: mayHaveLostPost(record.state),
      } as const;
      if ((await this.store.apply(account, record, change)) === undefined) return false;
      this.logger.warn(
        { account, sendId: record.order.id },
        'several messages match a send equally well; the send now has the status "unknown"',
      );
    }
    return true;
  }

  private async copyFlags(account: string, sendId: string, message: UpstreamMessage): Promise<void> {
    const transition = message.read ? 'message_read' : message.delivered ? 'message_delivered' : undefined;
    if (transition === undefined) return;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const record = await this.store.find(account, sendId);
      // Never move a status backwards, for example from `read` to `delivered`.
      if (record === undefined || findTransitionResult(record.state.status, transition) === undefined) return;
      const shown = await this.store.apply(account, record, { transition, state: record.state });
      if (shown !== undefined) return;
    }
    throw new Error(`${sendId} changed ${MAX_CONFLICTS} times while its flags were copied`);
  }
}

/**
 * Returns true if a send got the status `unknown` because this message and other messages fit the send equally well.
 * Such a message is not matched again when it is edited, for example when an attachment is added.
 */
function wasUndecided(contactId: string, messageId: string, sends: readonly SendRecord[]): boolean {
  const lookups = sends.flatMap(({ state }) => state.lookups ?? []);
  const candidates = lookups.flatMap((one) => (one.outcome === 'ambiguous' ? (one.candidates ?? []) : []));
  return candidates.some((one) => one.contactId === contactId && one.messageId === messageId);
}

/**
 * False for a scheduled send that cannot have been posted before the read, because its time had not come. Its time is
 * compared by upstream's clock: Redis' clock may have been set back since a POST whose record Redis lost.
 */
function mayBePosted(record: SendRecord, { readAt, upstreamAheadMs }: Sightings): boolean {
  if (record.state.status !== 'scheduled') return true;
  const dueAt = upstreamTimeOfFirstPostWithoutBoundMessage(record, upstreamAheadMs);
  return dueAt <= readAt + upstreamAheadMs + REDIS_CLOCK_TOLERANCE_MS;
}

/**
 * Adds a read of the recipient's messages to the send's list of look-ups, and returns the new record of the send. A
 * read by a look-up is always added. A read by a poll is added only if the send has the phase `looking`.
 */
function recordAfterRead(
  { contactId, readAt, messagesRead, lookup }: Sightings,
  record: SendRecord,
  outcome: 'found' | 'ambiguous',
  candidates: StoredLookup['candidates'] = [],
): SendRecord {
  if (lookup === undefined && record.state.phase !== 'looking') return record;
  const read = lookup ?? { contactIds: [contactId], messagesRead };
  return appendLookupToSend(record, {
    ...{ at: readAt, outcome, candidates },
    ...{ contactIds: read.contactIds, messagesRead: read.messagesRead },
  });
}

/**
 * Returns the state change that binds a message to a send. If the send already has a message, the new message is
 * recorded as a duplicate.
 */
function matchChange({ state }: SendRecord, contactId: string, messageId: string): StateChange {
  const rest = fieldsKeptAcrossTransitions(state);
  const reason = state.reason === undefined ? {} : { reason: state.reason };
  if (state.messageId === undefined) {
    const isStatusKept = findTransitionResult(state.status, 'found')?.to === state.status;
    return {
      transition: 'found',
      state: { ...rest, ...(isStatusKept ? reason : {}), contactId, messageId },
      claim: { contactId, messageId },
    };
  }
  const duplicates = [...(state.duplicates ?? []), { contactId, messageId }];
  return {
    transition: 'duplicate_found',
    state: { ...rest, ...reason, duplicates },
    claim: { contactId, messageId, duplicate: true },
  };
}

/**
 * Returns the messages that may belong to a waiting send, oldest first: all new messages, and edited messages that
 * belong to no send. An edited message counts because upstream may add an attachment to a message later. An edited
 * message without a timestamp is left out, because it may be older than the send. A message of which only flags or
 * other fields changed is left out, because it was compared with the sends when it was new.
 */
function candidates(
  fresh: readonly UpstreamMessage[],
  edited: readonly UpstreamMessage[],
  bound: ReadonlyMap<string, BoundSend>,
): UpstreamMessage[] {
  const late = edited.filter(({ id, timestamp }) => timestamp !== undefined && !bound.has(id));
  return [...fresh, ...late].sort((a, b) => (a.timestamp ?? Infinity) - (b.timestamp ?? Infinity) || 0);
}

function byRecipient(messages: readonly UpstreamMessage[]): Map<string, UpstreamMessage[]> {
  const groups = new Map<string, UpstreamMessage[]>();
  for (const message of messages) {
    if (message.to === undefined) continue;
    groups.set(message.to, [...(groups.get(message.to) ?? []), message]);
  }
  return groups;
}
