import type { FeedStore } from '#feed';

/** Takes part in what a store does. */
export interface StoreWatch {
  /** The time that it tells, in milliseconds since 1970. */
  now(): number;
  /** A worker has looked at what is known of a contact, and reads on from there. */
  beganPoll(contactId: string): void;
  /** A worker is about to look at what is known of the contact list. Calls back when it has. */
  beganList(): () => void;
  committing(commit: () => Promise<boolean>, contactId?: string): Promise<boolean>;
}

/** A store by whose clock a test lets time pass. */
export function shiftedStore(store: FeedStore, watch: StoreWatch): FeedStore {
  return {
    knownContacts: async (account) => {
      const looked = watch.beganList();
      const known = await store.knownContacts(account);
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
    noteListFault: (account, reason) => store.noteListFault(account, reason),
    contactRecord: (account, contactId) => store.contactRecord(account, contactId),
    knownMessages: (account, contactId, ids) => store.knownMessages(account, contactId, ids),
    contactRates: (account) => store.contactRates(account),
    allKnownMessages: (account, contactId) => store.allKnownMessages(account, contactId),
    overview: (account) => store.overview(account),
    hasten: (account, contactId, ms) => store.hasten(account, contactId, ms),
    wishForList: (account) => store.wishForList(account),
    takeListWish: (account) => store.takeListWish(account),
    recipientOf: (account, phoneNumber) => store.recipientOf(account, phoneNumber),
    believeDeletions: (account) => store.believeDeletions(account),
  };
}
