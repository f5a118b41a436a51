import type { Logger } from '#platform';
import { isTooMany } from './absence.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState, FeedStore } from './feed-store.js';
import { isUnsettled, type KnownMessage } from './known-message.js';
import { DamagedSnapshotError } from './packed-bytes.js';
import { tailOf } from './page-tail.js';
import { PAGE_LIMIT, walkPages, type WalkPlan, type WalkResult } from './page-walk.js';
import { PollConclusion, type PollStart } from './poll-conclusion.js';
import { headMark } from './poll-memory.js';
import type { FeedSource, LastForms, ReadPurpose, SendBinder } from './ports.js';
import type { VolatileFieldStore } from './volatile-fields.js';

/** Another poll of the same contact was committed meanwhile, this many times in a row. */
const MOST_RACES = 3;

/** Reads one contact's messages and commits what changed, together with its events. */
export class ContactPoll {
  private readonly conclusion: PollConclusion;

  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    binder: SendBinder,
    lastForms: LastForms,
    private readonly settings: FeedSettings,
    logger: Logger,
    volatile?: VolatileFieldStore,
  ) {
    this.conclusion = new PollConclusion(store, binder, lastForms, settings, logger, volatile);
  }

  /**
   * Whether the contact is known and was read and committed, by this poll or by one that was faster.
   * @throws {UpstreamError} if a page could not be read; nothing was committed then
   */
  async poll(account: string, contactId: string, purpose: ReadPurpose = 'poll'): Promise<boolean> {
    for (let race = 0; race < MOST_RACES; race += 1) {
      const state = await this.store.contactState(account, contactId);
      if (state === undefined) return false;
      if (await this.readAnew(account, contactId, state, purpose)) return true;
    }
    return true;
  }

  /** What is known of messages and cannot be read is lost: it would fail the next poll, too. */
  private async readAnew(
    account: string,
    contactId: string,
    state: ContactState,
    purpose: ReadPurpose,
  ): Promise<boolean> {
    try {
      return await this.readAndCommit(await this.start(account, contactId, state), purpose);
    } catch (error) {
      if (!(error instanceof DamagedSnapshotError)) throw error;
      const resync = 'what was known of its messages is damaged';
      return this.readAndCommit({ account, contactId, state, resync }, purpose);
    }
  }

  private async start(account: string, contactId: string, state: ContactState): Promise<PollStart> {
    const resync = lossOf(state);
    const looks = state.memory.lookDueAt !== undefined && state.memory.lookDueAt <= state.now;
    const all =
      resync === undefined && (looks || this.isCompleteDue(state))
        ? { all: await this.store.allKnownMessages(account, contactId) }
        : {};
    return { account, contactId, state, ...(resync === undefined ? {} : { resync }), ...all };
  }

  private async readAndCommit(start: PollStart, purpose: ReadPurpose): Promise<boolean> {
    const { account, contactId, state } = start;
    const complete = start.resync !== undefined || this.isCompleteDue(state);
    let walk = await this.walk(start, purpose, complete);
    let known = start.all ?? (await this.knownOf(start, walk));
    if (!walk.complete && this.isDisturbed(start, walk, known)) {
      const all = await this.walk(start, purpose, true);
      // What was shown once was there, even if it is not there any more.
      walk = { ...merge(walk, all), stable: all.stable };
      known = await this.knownOf(start, walk);
    }
    if (walk.complete) {
      if (start.resync === undefined)
        known = start.all ?? (await this.store.allKnownMessages(account, contactId));
      if (isReplaced(known, walk)) {
        // Without what was known: a new baseline is compared with nothing.
        const resync = 'upstream shows other messages than before';
        return this.readAndCommit({ account, contactId, state, resync }, purpose);
      }
      // What one read does not show may have slipped from page to page while it went on.
      if (walk.stable && someMissing(known, walk)) walk = merge(walk, await this.walk(start, purpose, true));
    }
    return this.conclusion.commit(start, walk, known);
  }

  private walk(
    { account, contactId, state, all, resync }: PollStart,
    purpose: ReadPurpose,
    complete: boolean,
  ): Promise<WalkResult> {
    const { order, length, pageSize } = state.memory;
    const limit = this.limitOf(state);
    const plan: WalkPlan = {
      order,
      length,
      pageSize,
      complete,
      wanted: this.wanted(state, all),
      ...(limit === undefined ? {} : { limit }),
    };
    return walkPages(
      {
        read: (page, limit) => this.source.listMessages(account, contactId, page, limit, purpose),
        known: async (ids) =>
          new Set(
            resync === undefined ? (await this.store.knownMessages(account, contactId, ids)).keys() : [],
          ),
      },
      plan,
    );
  }

  private async knownOf(
    { account, contactId, resync }: PollStart,
    walk: WalkResult,
  ): Promise<ReadonlyMap<string, KnownMessage>> {
    if (resync !== undefined) return new Map();
    return this.store.knownMessages(
      account,
      contactId,
      walk.served.map(({ id }) => id),
    );
  }

  private wanted(
    state: ContactState,
    all: ReadonlyMap<string, KnownMessage> | undefined,
  ): ReadonlySet<string> {
    if (all === undefined) return new Set();
    const unsettled = [...all].filter(([, known]) => isUnsettled(known, state.now, this.settings.settleMs));
    return new Set(unsettled.map(([id]) => id));
  }

  /** The limit that upstream honours, as far as it is known; once a sweep it is found out anew where it was not more. */
  private limitOf({ memory: { limit, completeAt = 0 }, now }: ContactState): number | undefined {
    return limit === PAGE_LIMIT && completeAt + this.settings.sweepMs <= now ? undefined : limit;
  }

  private isCompleteDue({ memory, now, tellAfter }: ContactState): boolean {
    if (tellAfter !== undefined || memory.completeAt === undefined) return true;
    if (memory.completeDueAt !== undefined && memory.completeDueAt <= now) return true;
    return memory.completeAt + this.settings.sweepMs <= now;
  }

  /** Whether what stood at the head does not stand there any more as it did. */
  private isDisturbed(
    { state }: PollStart,
    walk: WalkResult,
    known: ReadonlyMap<string, KnownMessage>,
  ): boolean {
    if (walk.order !== state.memory.order) return true;
    const { head: before, length, pageSize } = state.memory;
    const shown = headMark(walk.shown.filter((id) => known.has(id)));
    // Where the oldest come first, what was at the end must stand there still, and nothing of what stood before it.
    if (walk.order === 'oldestFirst') {
      const { page, limit } = tailOf(length, pageSize);
      const wasRead = before !== '' || (page - 1) * limit >= length;
      return wasRead && shown !== before;
    }
    // A page with room on it shows the end: all that stood there must still be there.
    if (walk.shown.length < walk.pageSize) return !shown.startsWith(before);
    return !before.startsWith(shown) && !shown.startsWith(before);
  }
}

/** Why what is remembered of a contact cannot be built on, or undefined. */
function lossOf({ lost, memory, stored, epoch }: ContactState): string | undefined {
  if (lost) return 'what was known of the contact was lost';
  if (memory.count > 0 && stored === 0) return 'what was known of its messages was lost';
  if (memory.epoch !== undefined && memory.epoch !== epoch) return 'the event log was lost';
  return undefined;
}

function present(known: ReadonlyMap<string, KnownMessage>): string[] {
  return [...known].filter(([, { deleted }]) => !deleted).map(([id]) => id);
}

/** Whether upstream shows messages, and of many known ones none. */
function isReplaced(known: ReadonlyMap<string, KnownMessage>, { served }: WalkResult): boolean {
  const ids = present(known);
  return served.length > 0 && isTooMany(ids.length, ids.length) && served.every(({ id }) => !known.has(id));
}

function someMissing(known: ReadonlyMap<string, KnownMessage>, { served }: WalkResult): boolean {
  const seen = new Set(served.map(({ id }) => id));
  return present(known).some((id) => !seen.has(id));
}

/** Two walks one after the other, the second one complete: what either of them showed, in its latest form. */
function merge(first: WalkResult, second: WalkResult): WalkResult {
  const latest = new Set(second.served.map(({ id }) => id));
  return {
    ...second,
    served: [...second.served, ...first.served.filter(({ id }) => !latest.has(id))],
    stable: first.stable && second.stable,
    skipped: Math.max(first.skipped, second.skipped),
    unreadable: [...new Set([...first.unreadable, ...second.unreadable])],
  };
}
