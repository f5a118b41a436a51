import type { ContactList, ContactReader, MessagePage, UpstreamMessage } from '#upstream';
import type { PollKind } from './poll/poll-queue.js';

/**
 * The reads of one claimed poll. Whoever reads hands it on from request to request as it is: the first one uses up the
 * token that came with the claim, each later one waits for its own.
 */
export interface ClaimedRead {
  readonly kind: PollKind;
  /** How many reads of this kind failed in a row before this one. */
  readonly failed: number;
  /** How long the contact had been due, in milliseconds. */
  readonly lateMs: number;
  /** Requests a second that the planning of polls can count on. */
  readonly availableForPolls: number;
  /** When the claim's token was asked for; absent once it is used. */
  token?: number;
  /** Aborts when the read is to end: then no further request is waited for. */
  readonly signal: AbortSignal;
}

/**
 * What the reads of a poll are paid as: a look-up for a send that may not have been taken goes before all else, one that
 * confirms what was taken goes before polls, claimed or not.
 */
export type ReadPurpose = 'poll' | 'lookup' | 'confirmation' | ClaimedRead;

/** Reads one account's upstream within its budget. */
export interface FeedSource {
  /** Shows the contact list to a reader while it comes. To be closed. */
  listContacts<R extends ContactReader>(
    account: string,
    purpose: ReadPurpose,
    newReader: () => R,
  ): Promise<ContactList<R>>;
  listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    purpose: ReadPurpose,
  ): Promise<MessagePage>;
}

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

/** The send that a message is. */
export interface BoundSend {
  sendId: string;
  /** Whether another message is that send too, and was found before. */
  duplicate?: true;
}

/** Knows which messages belong to sends. */
export interface SendBinder {
  /**
   * Binds outbound messages to the sends that they are, and carries their flags over: the sends by message id, of all
   * that are ours. The same sighting again gives the same answer.
   */
  bind(sightings: Sightings): Promise<ReadonlyMap<string, BoundSend>>;

  /** The sends that these messages were bound to, by message id, of all that are ours. */
  sendsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, BoundSend>>;
}

/** Knows the last recorded form of a message, as far as it is still kept. */
export interface LastForms {
  /** @param revision of the message's last event */
  lastForm(
    account: string,
    subject: string,
    revision: number,
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** Knows when an account is to be looked at for contacts that are due. */
export interface PollAgenda {
  /**
   * Some contact of the account is due at this time, in milliseconds since 1970 by Redis' clock. To be told right after
   * it was stored; one that is lost costs at most a minute.
   */
  at(account: string, dueAtMs: number): void;
}
