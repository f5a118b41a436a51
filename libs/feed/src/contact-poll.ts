import { type Clock, type Logger } from '#platform';
import type { UpstreamMessage } from '#upstream';
import { intervalFor, recordActivity, shareOf } from './adaptive-interval.js';
import { diff, type DiffResult } from './diff.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState, FeedStore } from './feed-store.js';
import { fingerprintOf } from './fingerprint.js';
import type { KnownMessage } from './known-message.js';
import { oldestFirst } from './page-order.js';
import { PAGE_LIMIT, walkPages, type WalkResult } from './page-walk.js';
import type { FeedSource, ReadPurpose, SendBinder } from './ports.js';

/** Another poll of the same contact was committed meanwhile, this many times in a row. */
const MOST_RACES = 3;

/** Reads one contact's messages and commits what changed, together with its events. */
export class ContactPoll {
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly binder: SendBinder,
    private readonly settings: FeedSettings,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /**
   * Whether the contact is known and was read and committed, by this poll or by one that was faster.
   * @throws {UpstreamError} if a page could not be read; nothing was committed then
   */
  async poll(account: string, contactId: string, purpose: ReadPurpose = 'poll'): Promise<boolean> {
    for (let race = 0; race < MOST_RACES; race += 1) {
      const state = await this.store.contactState(account, contactId);
      if (state === undefined) return false;
      if (await this.readAndCommit(account, contactId, state, purpose)) return true;
    }
    return true;
  }

  private async readAndCommit(
    account: string,
    contactId: string,
    state: ContactState,
    purpose: ReadPurpose,
  ): Promise<boolean> {
    const walk = await walkPages(
      {
        read: (page) => this.source.listMessages(account, contactId, page, PAGE_LIMIT, purpose),
        known: async (ids) => new Set((await this.store.knownMessages(account, contactId, ids)).keys()),
      },
      state.order,
    );
    if (walk.skipped > 0)
      this.logger.warn({ account, contactId, skipped: walk.skipped }, 'unreadable messages skipped');
    const observed = oldestFirst(walk.served, walk.order);
    const known = await this.store.knownMessages(
      account,
      contactId,
      observed.map(({ id }) => id),
    );
    const outbound = observed.filter(({ direction }) => direction === 'outbound');
    const sends = await this.binder.bind({
      account,
      contactId,
      fresh: outbound.filter(({ id }) => !known.has(id)),
      changed: outbound.filter((message) => isChanged(message, known.get(message.id))),
      ...(walk.date === undefined ? {} : { upstreamNow: walk.date }),
    });
    const firstRead =
      state.tellAfter === undefined
        ? {}
        : { firstRead: { tellAfter: state.tellAfter, undated: this.settings.undated } };
    const result = diff({ contactId, observed, known, sends, ...firstRead });
    return this.commit(account, contactId, state, walk, result);
  }

  private async commit(
    account: string,
    contactId: string,
    state: ContactState,
    walk: WalkResult,
    { events, known }: DiffResult,
  ): Promise<boolean> {
    const activity = recordActivity(state.activity, events.length, this.clock.now());
    const share = shareOf(activity);
    const shares = state.shares - state.share + share;
    const reads = await this.settings.readsPerSecond(account);
    return this.store.commitPoll(account, contactId, {
      version: state.version,
      hastened: state.hastened,
      known,
      events,
      order: walk.order,
      activity,
      share,
      dueInMs: intervalFor(share, shares, reads, this.settings.interval),
      numbers: numbersIn(walk.served.filter(({ id }) => known.has(id))),
    });
  }
}

function isChanged(message: UpstreamMessage, before: KnownMessage | undefined): boolean {
  return (
    before !== undefined &&
    (before.delivered !== message.delivered ||
      before.read !== message.read ||
      before.fingerprint.whole !== fingerprintOf(message).whole)
  );
}

/** The contact's own numbers, as its messages show them. */
function numbersIn(messages: readonly UpstreamMessage[]): string[] {
  const numbers = messages.map(({ direction, from, to }) =>
    direction === 'outbound' ? to : direction === 'inbound' ? from : undefined,
  );
  return [...new Set(numbers.filter((number) => number !== undefined))];
}
