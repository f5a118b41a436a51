import type { Logger } from '#platform';
import type { UpstreamMessage } from '#upstream';
import { type Match, matchMessages } from './message-match.js';
import type { BoundSend, RelayStore, StateChange } from '../send/relay-store.js';
import { edgeOf } from '../send/send-life.js';
import { type SendRecord, lastingFields } from '../send/send-record.js';

/** A poll's news about outbound messages of one contact. */
export interface Sightings {
  account: string;
  contactId: string;
  /** Not seen before, oldest first. */
  fresh: readonly UpstreamMessage[];
  /** Seen before, with other flags or another form than then. */
  changed: readonly UpstreamMessage[];
  /** Upstream's clock at the poll, in milliseconds since 1970, if it said so. */
  upstreamNow?: number;
}

/**
 * More sends to one recipient than this never wait for their sighting at once in sane use. The oldest give way: those
 * that upstream never shows stay for good, and must not be in the way of later ones.
 */
const MAX_AWAITING = 1_000;

/** So many times a send may change under our hands before the poll is given up, to be made again. */
const MAX_CONFLICTS = 10;

const AMBIGUOUS_MATCH =
  'Upstream shows several messages that it may be, and it is not known whether it is one of them.';

/** Binds messages to the sends that they are, and carries their flags over to the sends. */
export class MessageBinder {
  constructor(
    private readonly store: RelayStore,
    private readonly logger: Logger,
  ) {}

  /** The sends by message id, of all sightings that are ours. The same sighting again gives the same answer. */
  async bind(sightings: Sightings): Promise<ReadonlyMap<string, BoundSend>> {
    const { account, contactId, fresh, changed } = sightings;
    const all = [...fresh, ...changed];
    if (all.length === 0) return new Map();
    const bound = await this.store.claims(
      account,
      contactId,
      all.map(({ id }) => id),
    );
    for (const [recipient, messages] of byRecipient(candidates(fresh, changed, bound))) {
      await this.bindFresh(sightings, recipient, messages, bound);
    }
    for (const message of all) {
      const ours = bound.get(message.id);
      if (ours !== undefined && ours.duplicate !== true) await this.copyFlags(account, ours.sendId, message);
    }
    return bound;
  }

  /** The sends that these messages were bound to, by message id. */
  sendsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, BoundSend>> {
    return this.store.claims(account, contactId, messageIds);
  }

  private async bindFresh(
    { account, contactId, upstreamNow }: Sightings,
    recipient: string,
    messages: readonly UpstreamMessage[],
    bound: Map<string, BoundSend>,
  ): Promise<void> {
    for (let race = 0; race < MAX_CONFLICTS;) {
      const waiting = await this.store.awaiting(account, recipient, MAX_AWAITING);
      // After that: what another poll bound by then does not wait any more, and its message must be told as its own.
      const unbound = await this.unbound(account, contactId, messages, bound);
      if (waiting.length === 0) return;
      const ahead = upstreamNow === undefined ? 0 : upstreamNow - (await this.store.now(account));
      const { matches, undecided } = matchMessages(unbound, waiting, ahead);
      if (matches.length === 0 && (await this.endUndecidedSearches(account, undecided))) return;
      // Once more when all are bound: one of them may have a second message here.
      if (matches.length === 0 || (await this.claimAll(account, contactId, matches, bound))) race += 1;
    }
    throw new Error(`sends to the recipient of contact ${contactId} keep changing while they are bound`);
  }

  /** Those of the messages that are nobody's yet; whose the others are is noted. */
  private async unbound(
    account: string,
    contactId: string,
    messages: readonly UpstreamMessage[],
    bound: Map<string, BoundSend>,
  ): Promise<UpstreamMessage[]> {
    const left = messages.filter(({ id }) => !bound.has(id));
    const claims = await this.store.claims(
      account,
      contactId,
      left.map(({ id }) => id),
    );
    for (const [id, send] of claims) bound.set(id, send);
    return left.filter(({ id }) => !bound.has(id));
  }

  /** Whether a send changed meanwhile, such as by the answer to its POST, so that the match must be made again. */
  private async claimAll(
    account: string,
    contactId: string,
    matches: readonly Match[],
    bound: Map<string, BoundSend>,
  ): Promise<boolean> {
    for (const { message, record } of matches) {
      const done = await this.store.apply(account, record, matchChange(record, contactId, message.id));
      if (done === undefined) return true;
      const duplicate = record.state.messageId !== undefined;
      bound.set(message.id, { sendId: record.order.id, ...(duplicate ? { duplicate } : {}) });
      this.logger.info(
        { account, sendId: record.order.id, messageId: message.id },
        'send bound to its message',
      );
    }
    return false;
  }

  /**
   * Ends the search for sends that are one of several messages, nobody can say which: those messages are not new a second
   * time, and what may be there is not to be posted again. False if one changed meanwhile.
   */
  private async endUndecidedSearches(account: string, undecided: readonly SendRecord[]): Promise<boolean> {
    for (const record of undecided) {
      if (record.state.status !== 'relaying') continue;
      const state = { ...lastingFields(record.state), reason: AMBIGUOUS_MATCH };
      if ((await this.store.apply(account, record, { transition: 'marked_unknown', state })) === undefined)
        return false;
      this.logger.warn({ account, sendId: record.order.id }, 'it may be one of several alike messages');
    }
    return true;
  }

  private async copyFlags(account: string, sendId: string, message: UpstreamMessage): Promise<void> {
    const transition = message.read ? 'message_read' : message.delivered ? 'message_delivered' : undefined;
    if (transition === undefined) return;
    for (let race = 0; race < MAX_CONFLICTS; race += 1) {
      const record = await this.store.find(account, sendId);
      // Flags only ever carry a send forward.
      if (record === undefined || edgeOf(record.state.status, transition) === undefined) return;
      const shown = await this.store.apply(account, record, { transition, state: record.state });
      if (shown !== undefined) return;
    }
    throw new Error(`${sendId} keeps changing while its flags are carried over`);
  }
}

/** The step of a send of which a message was found; the first one is its message, a further one a duplicate. */
function matchChange({ state }: SendRecord, contactId: string, messageId: string): StateChange {
  const rest = lastingFields(state);
  if (state.messageId === undefined) {
    return { transition: 'found', state: { ...rest, contactId, messageId }, claim: { contactId, messageId } };
  }
  const duplicates = [...(state.duplicates ?? []), { contactId, messageId }];
  return {
    transition: 'duplicate_found',
    state: { ...rest, ...(state.reason === undefined ? {} : { reason: state.reason }), duplicates },
    claim: { contactId, messageId, duplicate: true },
  };
}

/**
 * What may be a send that waits: new messages, and changed ones that are nobody's yet, for an attachment may come later
 * than its message. Only their time tells the latter from what was there before.
 */
function candidates(
  fresh: readonly UpstreamMessage[],
  changed: readonly UpstreamMessage[],
  bound: ReadonlyMap<string, BoundSend>,
): UpstreamMessage[] {
  const late = changed.filter(({ id, timestamp }) => timestamp !== undefined && !bound.has(id));
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
