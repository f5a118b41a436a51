import type { NewEvent } from '#events';
import { type Logger } from '#platform';
import type { UpstreamMessage } from '#upstream';
import { absences, deletionEvent, isSuspect, isTooMany, suspectEvent } from './absence.js';
import { intervalFor, recordActivity, shareOf } from './adaptive-interval.js';
import { diff, messageSubject } from './diff.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState, FeedStore } from './feed-store.js';
import { fingerprintOf } from './fingerprint.js';
import type { FirstRead } from './first-read.js';
import { isUnsettled, type KnownMessage } from './known-message.js';
import { lookIntervalMs } from './look-interval.js';
import { oldestFirst } from './page-order.js';
import { walkPages, type WalkPlan, type WalkResult } from './page-walk.js';
import { headMark, type PollMemory } from './poll-memory.js';
import type { FeedSource, LastForms, ReadPurpose, SendBinder } from './ports.js';

/** Another poll of the same contact was committed meanwhile, this many times in a row. */
const MOST_RACES = 3;

/** What is known of a contact before its pages are read. */
interface Before {
  account: string;
  contactId: string;
  state: ContactState;
  /** Why a new baseline is taken: a part was lost. */
  resync?: string;
  /** Everything that is known, where it had to be read. */
  all?: ReadonlyMap<string, KnownMessage>;
}

/** Reads one contact's messages and commits what changed, together with its events. */
export class ContactPoll {
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly binder: SendBinder,
    private readonly lastForms: LastForms,
    private readonly settings: FeedSettings,
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
      if (await this.readAndCommit(await this.before(account, contactId, state), purpose)) return true;
    }
    return true;
  }

  private async before(account: string, contactId: string, state: ContactState): Promise<Before> {
    const resync = lossOf(state);
    const looks = state.memory.lookDueAt !== undefined && state.memory.lookDueAt <= state.now;
    const all =
      resync === undefined && (looks || this.isCompleteDue(state))
        ? { all: await this.store.allKnownMessages(account, contactId) }
        : {};
    return { account, contactId, state, ...(resync === undefined ? {} : { resync }), ...all };
  }

  private async readAndCommit(before: Before, purpose: ReadPurpose): Promise<boolean> {
    const { account, contactId, state } = before;
    const complete = before.resync !== undefined || this.isCompleteDue(state);
    let walk = await this.walk(before, purpose, complete);
    let known = before.all ?? (await this.knownOf(before, walk));
    if (!walk.complete && this.isDisturbed(before, walk, known)) {
      walk = await this.walk(before, purpose, true);
      known = await this.knownOf(before, walk);
    }
    if (walk.complete) {
      if (before.resync === undefined)
        known = before.all ?? (await this.store.allKnownMessages(account, contactId));
      if (isReplaced(known, walk)) {
        return this.readAndCommit(
          { ...before, resync: 'upstream shows other messages than before' },
          purpose,
        );
      }
      // What one read does not show may have slipped from page to page while it went on.
      if (walk.stable && someMissing(known, walk)) walk = merge(walk, await this.walk(before, purpose, true));
    }
    if (walk.skipped > 0) {
      this.logger.warn({ account, contactId, skipped: walk.skipped }, 'unreadable messages skipped');
    }
    return this.commit(before, walk, known);
  }

  private walk(
    { account, contactId, state, all }: Before,
    purpose: ReadPurpose,
    complete: boolean,
  ): Promise<WalkResult> {
    const { order, length, pageSize } = state.memory;
    const plan: WalkPlan = { order, length, pageSize, complete, wanted: this.wanted(state, all) };
    return walkPages(
      {
        read: (page, limit) => this.source.listMessages(account, contactId, page, limit, purpose),
        known: async (ids) => new Set((await this.store.knownMessages(account, contactId, ids)).keys()),
      },
      plan,
    );
  }

  private async knownOf(
    { account, contactId, resync }: Before,
    walk: WalkResult,
  ): Promise<ReadonlyMap<string, KnownMessage>> {
    if (resync !== undefined) return new Map();
    return this.store.knownMessages(
      account,
      contactId,
      walk.served.map(({ id }) => id),
    );
  }

  private async commit(
    before: Before,
    walk: WalkResult,
    known: ReadonlyMap<string, KnownMessage>,
  ): Promise<boolean> {
    const { account, contactId, state, resync } = before;
    const observed = oldestFirst(walk.served, walk.order);
    const outbound = observed.filter(({ direction }) => direction === 'outbound');
    const sends = await this.binder.bind({
      account,
      contactId,
      fresh: outbound.filter(({ id }) => !known.has(id)),
      changed: outbound.filter((message) => isChanged(message, known.get(message.id))),
      ...(walk.date === undefined ? {} : { upstreamNow: walk.date }),
    });
    const firstRead = this.firstRead(before);
    const changes = diff({
      contactId,
      observed,
      known,
      sends,
      ...(firstRead === undefined ? {} : { firstRead }),
      // After a loss revisions go on above all that were used before: by the second there are fewer.
      revision: resync === undefined ? 0 : Math.floor(state.now / 1_000),
    });
    const absence = walk.stable ? this.absences(before, walk, known) : undefined;
    const next = new Map([...changes.known, ...(absence?.known ?? [])]);
    const events: NewEvent[] = [
      ...(resync === undefined ? [] : [resyncEvent(contactId, state, resync)]),
      ...changes.events,
    ];
    for (const gone of absence?.deleted ?? []) {
      const last = await this.lastForms.lastForm(account, messageSubject(contactId, gone.id), gone.revision);
      events.push(deletionEvent(contactId, gone, last));
    }
    const suspected = absence?.suspected ?? 0;
    const suspicion = suspected > 0 ? suspicionOf(contactId, state, suspected) : undefined;
    if (suspicion !== undefined) events.push(suspicion);

    const memory = this.remember(before, walk, known, next, absence);
    const activity = recordActivity(state.memory.activity, events.length, state.now);
    const share = shareOf(activity);
    const reads = await this.settings.readsPerSecond(account);
    const { interval: bounds, sweepMs } = this.settings;
    const interval = intervalFor(share, state.shares - state.share + share, reads, bounds);
    return this.store.commitPoll(account, contactId, {
      version: state.version,
      hastened: state.hastened,
      afresh: resync !== undefined,
      suspect: suspected > 0,
      known: next,
      events,
      memory: { ...memory, activity },
      share,
      // What a read could not settle is due still, but is not read again and again without a pause.
      dueInMs: Math.max(Math.min(interval, dueOf(memory, state.now, sweepMs)), bounds.min),
      numbers: numbersIn(walk.served.filter(({ id }) => next.has(id))),
    });
  }

  private absences({ contactId, state }: Before, walk: WalkResult, known: ReadonlyMap<string, KnownMessage>) {
    const { suspectSince } = state.memory;
    const { listSuspectSince, believedAt = 0, suspectAt = 0 } = state;
    const listDoubted = listSuspectSince !== undefined && believedAt < listSuspectSince;
    // That one contact is empty says little, unless another one is suspect too.
    const emptied = walk.served.length === 0 && isSuspect(suspectAt, state.now) && believedAt < suspectAt;
    return absences({
      contactId,
      known,
      seen: new Set(walk.served.map(({ id }) => id)),
      now: state.now,
      apartMs: this.settings.absenceMs,
      believed: suspectSince !== undefined && believedAt >= suspectSince,
      doubted: listDoubted || emptied,
    });
  }

  private firstRead({ state, resync }: Before): FirstRead | undefined {
    const { undated } = this.settings;
    // A new baseline after a loss: what is there now was there before.
    if (resync !== undefined) return 'silent';
    return state.tellAfter === undefined ? undefined : { tellAfter: state.tellAfter, undated };
  }

  private remember(
    { state, resync }: Before,
    walk: WalkResult,
    known: ReadonlyMap<string, KnownMessage>,
    next: ReadonlyMap<string, KnownMessage>,
    absence: ReturnType<typeof absences> | undefined,
  ): PollMemory {
    const { memory, now, epoch } = state;
    const added = [...next.keys()].filter((id) => !known.has(id)).length;
    const suspected = absence === undefined ? memory.suspectSince !== undefined : absence.suspected > 0;
    const undecided = absence?.pending ?? memory.completeDueAt !== undefined;
    const completeDueAt =
      undecided && walk.complete
        ? now + this.settings.absenceMs
        : undecided
          ? memory.completeDueAt
          : undefined;
    const completeAt = walk.complete ? now : memory.completeAt;
    const lookDueAt = this.nextLook(state, walk, known, next);
    return {
      order: walk.order,
      pageSize: walk.pageSize,
      length: walk.length,
      head: headMark(walk.head),
      count: (resync === undefined ? state.stored : 0) + added,
      ...(completeAt === undefined ? {} : { completeAt }),
      ...(completeDueAt === undefined ? {} : { completeDueAt }),
      ...(lookDueAt === undefined ? {} : { lookDueAt }),
      ...(epoch === undefined ? {} : { epoch }),
      ...(suspected ? { suspectSince: memory.suspectSince ?? now } : {}),
    };
  }

  /** When the first of the messages that may still change is to be looked up; those on the head are seen anyway. */
  private nextLook(
    { memory, now }: ContactState,
    walk: WalkResult,
    known: ReadonlyMap<string, KnownMessage>,
    next: ReadonlyMap<string, KnownMessage>,
  ): number | undefined {
    const upstreamNow = walk.date ?? now;
    const unsettled = [...new Map([...known, ...next])].filter(([, message]) =>
      isUnsettled(message, upstreamNow, this.settings.settleMs),
    );
    const waits = unsettled.map(([, { timestamp = upstreamNow }]) => lookIntervalMs(upstreamNow - timestamp));
    const due = waits.length === 0 ? undefined : now + Math.min(...waits);
    const looked = memory.lookDueAt !== undefined && memory.lookDueAt <= now;
    if (looked || memory.lookDueAt === undefined) return due;
    return due === undefined ? memory.lookDueAt : Math.min(memory.lookDueAt, due);
  }

  private wanted(
    state: ContactState,
    all: ReadonlyMap<string, KnownMessage> | undefined,
  ): ReadonlySet<string> {
    if (all === undefined) return new Set();
    const unsettled = [...all].filter(([, known]) => isUnsettled(known, state.now, this.settings.settleMs));
    return new Set(unsettled.map(([id]) => id));
  }

  private isCompleteDue({ memory, now, tellAfter }: ContactState): boolean {
    if (tellAfter !== undefined || memory.completeAt === undefined) return true;
    if (memory.completeDueAt !== undefined && memory.completeDueAt <= now) return true;
    return memory.completeAt + this.settings.sweepMs <= now;
  }

  /** Whether what stood at the head does not stand there any more as it did. */
  private isDisturbed(
    { state }: Before,
    walk: WalkResult,
    known: ReadonlyMap<string, KnownMessage>,
  ): boolean {
    if (walk.order !== state.memory.order) return true;
    const before = state.memory.head;
    const shown = headMark(walk.shown.filter((id) => known.has(id)));
    // Where the oldest come first the end was read: all that stood there must still be there.
    if (walk.order === 'oldestFirst') return !shown.startsWith(before);
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

/** Two complete walks one after the other: what either of them showed, in its latest form. */
function merge(first: WalkResult, second: WalkResult): WalkResult {
  const served = new Map([...first.served, ...second.served].map((message) => [message.id, message]));
  return { ...second, served: [...served.values()], stable: first.stable && second.stable };
}

function isChanged(message: UpstreamMessage, before: KnownMessage | undefined): boolean {
  return (
    before !== undefined &&
    (before.delivered !== message.delivered ||
      before.read !== message.read ||
      before.deleted ||
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

/** How long what is to be seen to at a certain time can wait, in milliseconds. */
function dueOf({ completeDueAt, lookDueAt, completeAt }: PollMemory, now: number, sweepMs: number): number {
  const times = [completeDueAt, lookDueAt, completeAt === undefined ? undefined : completeAt + sweepMs];
  return Math.max(Math.min(...times.map((time) => (time ?? Infinity) - now)), 0);
}

function resyncEvent(contactId: string, { version }: ContactState, reason: string): NewEvent {
  return {
    type: 'contact.resynced',
    contactId,
    subject: `resync:${contactId}`,
    revision: version + 1,
    data: { contactId, reason },
  };
}

function suspicionOf(
  contactId: string,
  { now, suspectAt }: ContactState,
  count: number,
): NewEvent | undefined {
  const reason = 'upstream shows far fewer messages of a contact than before';
  return suspectEvent(now, suspectAt, { reason, count, contactId });
}
