import type { Logger } from '#platform';
import type { UpstreamMessage } from '#upstream';
import { type Match, matchMessages } from './message-match.js';
import type { BoundSend, RelayStore, StateChange } from '../send/relay-store.js';
import { edgeOf } from '../send/send-transitions.js';
import { type SendRecord, lastingFields } from '../send/send-record.js';

/** The outbound messages of one contact that a poll found new or changed. */
export interface Sightings {
  account: string;
  contactId: string;
  /** Messages that were not seen before, oldest first. */
  newMessages: readonly UpstreamMessage[];
  /** Messages that were seen before with other flags or another content. */
  changedMessages: readonly UpstreamMessage[];
  /** Upstream's clock at the poll, in milliseconds since 1970; absent if upstream did not report its time. */
  upstreamNow?: number;
}

/**
 * Maximum number of sends to one recipient that can wait for their messages. The oldest are ignored: sends that
 * upstream never shows must not block later sends.
 */
const MAX_AWAITING = 1_000;

/** Maximum number of conflicts with other writers before the poll fails. The next poll retries. */
const MAX_CONFLICTS = 10;

const AMBIGUOUS_MATCH =
  'Upstream shows several messages that may be this send, and it is unknown which of them is.';

/** Binds messages to the sends that they belong to, and copies the messages' flags to the sends. */
export class MessageBinder {
  constructor(
    private readonly store: RelayStore,
    private readonly logger: Logger,
  ) {}

  /** Binds the messages of a poll. Returns the sends by message id. A repeated call returns the same result. */
  async bind(sightings: Sightings): Promise<ReadonlyMap<string, BoundSend>> {
    const { account, contactId, newMessages, changedMessages } = sightings;
    const all = [...newMessages, ...changedMessages];
    if (all.length === 0) return new Map();
    const bound = await this.store.boundSends(
      account,
      contactId,
      all.map(({ id }) => id),
    );
    for (const [recipient, messages] of byRecipient(candidates(newMessages, changedMessages, bound))) {
      await this.bindFresh(sightings, recipient, messages, bound);
    }
    for (const message of all) {
      const ours = bound.get(message.id);
      if (ours !== undefined && ours.duplicate !== true) await this.copyFlags(account, ours.sendId, message);
    }
    return bound;
  }

  /** Returns the sends that these messages are bound to, by message id. */
  sendsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, BoundSend>> {
    return this.store.boundSends(account, contactId, messageIds);
  }

  private async bindFresh(
    { account, contactId, upstreamNow }: Sightings,
    recipient: string,
    messages: readonly UpstreamMessage[],
    bound: Map<string, BoundSend>,
  ): Promise<void> {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS;) {
      const waiting = await this.store.sendsAwaitingMessage(account, recipient, MAX_AWAITING);
      // Read after the waiting sends: another poll may have bound messages meanwhile, and their events need the send's
      // id.
      const withoutSend = await this.unbound(account, contactId, messages, bound);
      if (waiting.length === 0) return;
      const ahead = upstreamNow === undefined ? 0 : upstreamNow - (await this.store.now(account));
      const { matches, undecided } = matchMessages(withoutSend, waiting, ahead);
      if (matches.length === 0 && (await this.endUndecidedSearches(account, undecided))) return;
      // Another round runs when all matches are bound, because a send may have a second message here.
      if (matches.length === 0 || (await this.bindAll(account, contactId, matches, bound))) conflicts += 1;
    }
    throw new Error(
      `sends to the recipient of contact ${contactId} changed ${MAX_CONFLICTS} times while messages were bound`,
    );
  }

  /** Returns the messages that belong to no send. Adds the owners of the other messages to `bound`. */
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

  /** Binds all matches. Returns true if a send changed meanwhile, so that the matching must run again. */
  private async bindAll(
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
   * Ends the search for sends that match several messages equally well. Later polls do not see these messages as new,
   * and a send that may already have arrived must not be posted again. Returns false if a send changed meanwhile.
   */
  private async endUndecidedSearches(account: string, undecided: readonly SendRecord[]): Promise<boolean> {
    for (const record of undecided) {
      if (record.state.status !== 'relaying') continue;
      const state = { ...lastingFields(record.state), reason: AMBIGUOUS_MATCH };
      if ((await this.store.apply(account, record, { transition: 'marked_unknown', state })) === undefined)
        return false;
      this.logger.warn(
        { account, sendId: record.order.id },
        'several identical messages match the send; its status is now unknown',
      );
    }
    return true;
  }

  private async copyFlags(account: string, sendId: string, message: UpstreamMessage): Promise<void> {
    const transition = message.read ? 'message_read' : message.delivered ? 'message_delivered' : undefined;
    if (transition === undefined) return;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const record = await this.store.find(account, sendId);
      // Flags only move a send forward.
      if (record === undefined || edgeOf(record.state.status, transition) === undefined) return;
      const shown = await this.store.apply(account, record, { transition, state: record.state });
      if (shown !== undefined) return;
    }
    throw new Error(`${sendId} changed ${MAX_CONFLICTS} times while its flags were copied`);
  }
}

/** Returns the change that binds a message to its send. The second message of a send is a duplicate. */
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
 * Returns the messages that may belong to a waiting send: new messages, and changed messages without a send, because an
 * attachment can arrive after its message. A changed message needs a timestamp, which separates it from older messages.
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
