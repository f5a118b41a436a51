import { type FeedStore, RedisFeedStore } from '#feed';

/** Store with a clock that a test can move. */
export class ShiftedClockStore extends RedisFeedStore {
  /** Time by which the clock is ahead of Redis' clock, in milliseconds. */
  aheadMs = 0;

  override async contactListSnapshot(account: string): ReturnType<FeedStore['contactListSnapshot']> {
    const known = await super.contactListSnapshot(account);
    return { ...known, now: known.now + this.aheadMs };
  }

  override async contactState(account: string, contactId: string): ReturnType<FeedStore['contactState']> {
    const state = await super.contactState(account, contactId);
    return state === undefined ? undefined : { ...state, now: state.now + this.aheadMs };
  }
}
