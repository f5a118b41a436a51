import type { NewEvent } from '#events';
import { type Logger, logMessageOf } from '#platform';
import { type ContactList, UpstreamError, UpstreamUnavailableError } from '#upstream';
import {
  areTooManyElementsMissing,
  createAccountSuspectEvent,
  unconfirmedSuspectSince,
} from '../diff/absence.js';
import { SnapshotComparingContactReader } from './snapshot-comparing-contact-reader.js';
import { VolatileContactFieldTracker, NO_VOLATILE_CONTACT_FIELDS } from '../form/volatile-contact-fields.js';
import { ContactUpdates, type ContactListComparison } from './contact-updates.js';
import type { FeedStore } from '../feed-store.js';
import type { ContactListSnapshot } from '../snapshot/contact-list-snapshot.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import { updateUnreadableElementHistory } from '../snapshot/unreadable-elements.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';

/**
 * Used when the first contact list of an account is read, or a list that replaces the known one: messages that were
 * sent at most this many milliseconds before the start time emit events too. The start time is when the account was
 * added. It is the time of the read if that time is unknown, or if the account had a contact list before.
 */
const FIRST_LIST_SLACK_MS = 60_000;
/**
 * If the first contact list of a new account is read more than this many milliseconds after the account was added,
 * the start time (see {@link FIRST_LIST_SLACK_MS}) is this long before the read. Earlier messages, except those of
 * sends, then emit no events, even if they were sent after the account was added.
 */
const MAX_FIRST_LIST_DELAY_MS = 24 * 3_600_000;
/**
 * Messages of a contact that is new in the contact list, except the messages of sends, emit no events if they were
 * sent more than this many milliseconds before the previous read of the contact list at which no outage was
 * suspected.
 */
const LATER_CONTACT_SLACK_MS = 24 * 3_600_000;

/** Maximum number of attempts to read and commit the contact list. A refused commit leads to another attempt. */
const MAX_READ_ATTEMPTS = 3;

/**
 * Returns the time at which an account was added, in milliseconds since 1970 by Redis' clock; undefined if
 * unknown.
 */
export type FindAddedAt = (account: string) => Promise<number | undefined>;

/**
 * Polls the contact list of an account. Commits which contacts are new, changed or missing, or have reappeared,
 * together with the events about them. A new or changed contact becomes due for a poll at once. A contact counts as
 * deleted if it is missing from two lists that were read at least `absenceMs` milliseconds apart, unless it
 * reappeared in between, so many contacts are missing that an outage is likely, or the contact may be an element of
 * the list that could not be read.
 */
export class ContactListPoller {
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly absenceMs: number,
    private readonly addedAt: FindAddedAt = () => Promise.resolve(undefined),
    private readonly volatile?: { store: VolatileFieldStore; logger: Logger },
  ) {}

  /**
   * Reads the contact list and commits the result. If the commit is refused (see `FeedStore.commitContacts`), tries
   * again, in at most {@link MAX_READ_ATTEMPTS} attempts. If all commits are refused, returns without an error.
   * @throws {UpstreamError} if the list could not be read. The reason for the failure is stored, unless the error is
   * an {@link UpstreamUnavailableError}.
   */
  async poll(account: string, purpose: ReadPurpose = 'poll'): Promise<void> {
    try {
      let done = false;
      for (let race = 0; !done && race < MAX_READ_ATTEMPTS; race += 1)
        done = await this.readOnce(account, purpose);
    } catch (error) {
      if (error instanceof UpstreamError && !(error instanceof UpstreamUnavailableError))
        await this.store.recordContactListFailure(account, logMessageOf(error));
      throw error;
    }
  }

  /**
   * Reads the contact list and commits the result. Returns false if the commit was refused; see
   * `FeedStore.commitContacts`.
   */
  private async readOnce(account: string, purpose: ReadPurpose): Promise<boolean> {
    const startedAt = performance.now();
    const known = await this.store.contactListSnapshot(account);
    const volatility = (await this.volatile?.store.contactVolatility(account)) ?? NO_VOLATILE_CONTACT_FIELDS;
    // The reply may contain several lists, and only its end shows which of them is the contact list. A reader is
    // created for each list. Each reader has its own tracker, so that a tracker counts only the contacts of one list.
    const list = await this.source.listContacts(
      account,
      purpose,
      () => new SnapshotComparingContactReader(known, new VolatileContactFieldTracker(volatility)),
    );
    const { tracker } = list.reader;
    const endedAt = known.now + Math.round(performance.now() - startedAt);
    try {
      const done = await this.commit(account, known, list, tracker, endedAt);
      if (done) await this.storeVolatility(account, tracker, list.reader.count);
      return done;
    } finally {
      await list.close();
    }
  }

  private async storeVolatility(
    account: string,
    tracker: VolatileContactFieldTracker,
    contacts: number,
  ): Promise<void> {
    const { isToBeStored, volatility, newlyMuted: muted, newlyUnmuted: unmuted } = tracker.conclude();
    if (this.volatile === undefined || !isToBeStored) return;
    const { store, logger } = this.volatile;
    await store.storeContactVolatility(account, volatility, contacts);
    if (muted.length > 0)
      logger.info(
        { account, fields: muted },
        'contact fields are muted, because their values differ at nearly every read: changes of these fields emit no events',
      );
    if (unmuted.length > 0)
      logger.info(
        { account, fields: unmuted },
        'contact fields are no longer muted: changes of these fields emit events again',
      );
  }

  /**
   * Commits the result of a read of the contact list. Returns false if the commit was refused; see
   * `FeedStore.commitContacts`.
   * @param endedAt when the read ended, in milliseconds since 1970 by Redis' clock
   */
  private async commit(
    account: string,
    known: ContactListSnapshot,
    list: ContactList<SnapshotComparingContactReader>,
    tracker: VolatileContactFieldTracker,
    endedAt: number,
  ): Promise<boolean> {
    // Upstream's clock is preferred, because `listedAt` is compared with the timestamps of messages, which come
    // from upstream.
    const listedAt = list.date ?? known.now;
    const missing = list.reader.missing();
    const { upstream } = list;
    const isOtherService =
      known.upstream !== undefined && known.upstream !== upstream && !showsMostContacts(list, missing);
    const isOutage = areTooManyElementsMissing(
      missing.map(([, before]) => before),
      list.reader.present,
      known.deletionsConfirmedAt,
    );
    const suspectBefore = unconfirmedSuspectSince(known.suspectSince, known.deletionsConfirmedAt);
    const isSuspect = isOutage || (isOtherService && missing.length > 0);
    // A list that probably comes from another service always counts as a replacement. Of several other suspect lists
    // in a row, only the first one does: the lists may be suspect for days, and a contact that first appears in a
    // later one is really new.
    const isReplaced =
      isOtherService ||
      (isSuspect &&
        suspectBefore === undefined &&
        (known.isReplacing || 2 * list.reader.newCount >= missing.length));
    const comparison: ContactListComparison = {
      ...{ known, endedAt, tracker, missing, isReplaced },
      areSomeUnscheduled: list.reader.present > known.scheduled,
      isOutageLikely: isSuspect,
      suspectBefore,
      unreadable: updateUnreadableElementHistory(known.unreadable, list.skipped, endedAt),
      emitAfter: await this.emitAfter(account, known, listedAt, isReplaced),
    };
    const suspectEvent = isSuspect ? accountSuspectEventOf(known, missing.length) : undefined;
    if (isOtherService && known.services.get(upstream) === undefined)
      this.volatile?.logger.warn(
        { account, contacts: list.reader.count },
        'many contacts from the previous upstream address are missing at the new address, so the new address probably belongs to a different messaging service; sends that were stored for the previous address are not relayed',
      );
    const done = await this.store.commitContacts(account, {
      version: known.version,
      redisRun: known.redisRun,
      startedAt: known.now,
      listedAt: isSuspect ? (known.listedAt ?? listedAt) : listedAt,
      skipped: missing.length === 0 ? list.skipped : known.skipped,
      unreadable: comparison.unreadable,
      upstream,
      service: serviceOf(known, upstream, isOtherService),
      updates: new ContactUpdates(this.store, account, this.absenceMs, comparison).of(list),
      ...(isSuspect ? { suspectSince: suspectBefore ?? known.now } : {}),
      isReplaced,
      events: suspectEvent === undefined ? [] : [suspectEvent],
    });
    if (done && list.skipped > (known.unreadable?.count ?? 0))
      this.volatile?.logger.warn(
        { account, count: list.skipped },
        'the contact list contains elements that cannot be read as contacts; new contacts among them are not polled',
      );
    return done;
  }

  /**
   * Returns the start time for the messages of new contacts, in milliseconds since 1970 by upstream's clock.
   * The first read of a new contact emits events for messages whose timestamp is later than the start time.
   */
  private async emitAfter(
    account: string,
    { wasListedBefore, now, listedAt }: ContactListSnapshot,
    upstreamNow: number,
    replaced: boolean,
  ): Promise<number> {
    if (listedAt !== undefined && !replaced) return listedAt - LATER_CONTACT_SLACK_MS;
    const addedAt = wasListedBefore || replaced ? undefined : await this.addedAt(account);
    const late = Math.min(Math.max(now - (addedAt ?? now), 0), MAX_FIRST_LIST_DELAY_MS);
    return upstreamNow - late - FIRST_LIST_SLACK_MS;
  }
}

/** Returns true if the list contains more than half of the known contacts that are not deleted. */
function showsMostContacts(
  { reader: { present } }: ContactList<SnapshotComparingContactReader>,
  missing: readonly unknown[],
): boolean {
  return present > 0 && missing.length * 2 < present;
}

/**
 * Returns the messaging service behind an upstream address. A service is identified by the hash of its first
 * address.
 * @param address hash of the upstream address
 * @param isAnother `true` if an unknown address belongs to a new service; `false` if it belongs to the service of
 * the previous address
 */
function serviceOf({ services, upstream }: ContactListSnapshot, address: string, isAnother: boolean): string {
  const before = upstream === undefined || isAnother ? undefined : services.get(upstream);
  return services.get(address) ?? before ?? address;
}

function accountSuspectEventOf({ now, suspectAt }: ContactListSnapshot, count: number): NewEvent | undefined {
  return createAccountSuspectEvent(now, suspectAt, {
    reason: 'upstream shows far fewer contacts than before',
    count,
  });
}
