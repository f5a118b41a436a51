import type { FeedStore } from '#feed';

/** Observes the operations of a store and sets its clock. */
export interface StoreWatch {
  /** Returns the time of the store, in milliseconds since 1970. */
  now(): number;
  /** Called after a worker has read the known state of a contact. */
  beganPoll(contactId: string): void;
  /**
   * Called before a worker reads the known state of the contact list. The returned function is called after
   * the read.
   */
  beganList(): () => void;
  committing<T>(commit: () => Promise<T>, contactId?: string): Promise<T>;
}

/** Returns a store whose clock the test controls. */
export function shiftedStore(store: FeedStore, watch: StoreWatch): FeedStore {
  return {
    contactListSnapshot: async (account) => {
      const looked = watch.beganList();
      const known = await store.contactListSnapshot(account);
      looked();
      return { ...known, now: watch.now() };
    },
    contactState: async (account, contactId) => {
      const state = await store.contactState(account, contactId);
      watch.beganPoll(contactId);
      return state === undefined ? undefined : { ...state, now: watch.now() };
    },
    commitContacts: (account, commit) => watch.committing(() => store.commitContacts(account, commit)),
    commitPoll: (account, contactId, commit) =>
      watch.committing(() => store.commitPoll(account, contactId, commit), contactId),
    commitUnchangedPoll: (account, contactId, commit) =>
      watch.committing(() => store.commitUnchangedPoll(account, contactId, commit), contactId),
    recordContactListFailure: (account, reason) => store.recordContactListFailure(account, reason),
    contactRecord: (account, contactId) => store.contactRecord(account, contactId),
    contactTexts: (account, ids) => store.contactTexts(account, ids),
    knownMessages: (account, contactId, ids) => store.knownMessages(account, contactId, ids),
    contactRates: (account) => store.contactRates(account),
    allKnownMessages: (account, contactId) => store.allKnownMessages(account, contactId),
    overview: (account) => store.overview(account),
    expeditePoll: (account, contactId, ms) => store.expeditePoll(account, contactId, ms),
    expeditePollsOfRecipients: (account, numbers, ms) =>
      store.expeditePollsOfRecipients(account, numbers, ms),
    requestContactListPoll: (account) => store.requestContactListPoll(account),
    consumeContactListPollRequest: (account) => store.consumeContactListPollRequest(account),
    unidentifiedContacts: (account, count) => store.unidentifiedContacts(account, count),
    recipientOf: (account, phoneNumber) => store.recipientOf(account, phoneNumber),
    confirmDeletions: (account) => store.confirmDeletions(account),
  };
}
