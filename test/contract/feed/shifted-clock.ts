import { type FeedStore, RedisFeedStore } from '#feed';

/** A store by whose clock a test lets time pass. */
export class ShiftedClockStore extends RedisFeedStore {
  /** How far its clock is ahead of Redis', in milliseconds. */
  aheadMs = 0;

  override async knownContacts(account: string): ReturnType<FeedStore['knownContacts']> {
    const known = await super.knownContacts(account);
    return { ...known, now: known.now + this.aheadMs };
  }

  override async contactState(account: string, contactId: string): ReturnType<FeedStore['contactState']> {
    const state = await super.contactState(account, contactId);
    return state === undefined ? undefined : { ...state, now: state.now + this.aheadMs };
  }
}
