import type { NewEvent } from '#events';
import type { Logger } from '#platform';
import type { UpstreamMessage } from '#upstream';
import { type AbsenceResult, absences, deletionEvent, isSuspect, suspectEvent } from '../diff/absence.js';
import type { ContactExtension } from '../snapshot/contact-extension.js';
import { type Arrival, arrivalsIn } from '../delay/poll-report.js';
import { diff, messageSubject } from '../diff/diff.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState, FeedStore, PollCommit } from '../feed-store.js';
import { fingerprintOf, type SeenFingerprint } from '../form/fingerprint.js';
import type { FirstRead } from '../diff/first-read.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { formChange, isTold } from '../form/message-form.js';
import { isHeadEnough, oldestFirst } from '../walk/page-order.js';
import { markUnreadable, type PollMemory } from '../snapshot/poll-memory.js';
import { packPollMemory } from '../snapshot/poll-memory-codec.js';
import { PollPlans } from '../schedule/poll-plans.js';
import { lookDueInMs, remember } from './poll-recollection.js';
import type { BoundSend, LastForms, SendBinder } from '../ports.js';
import type { Everything, Reading } from '../walk/reading.js';
import { packRate, unpackRate } from '../schedule/rate-codec.js';
import { bucketOf } from '../schedule/rate-histogram.js';
import { rateOf, recordRead } from '../schedule/rate.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';
import { ALL_HEARD, type Lesson, packVolatility, unpackVolatility } from '../form/volatility.js';

/** What is known of a contact before a stretch of it is read. */
export interface PollStart {
  account: string;
  contactId: string;
  state: ContactState;
  /** Why a new baseline is taken: a part was lost. */
  resync?: string;
  /** What the account's polls may cost, as far as whoever claimed this one knows it. */
  requestsPerSecond?: number;
}

/** What a reading is: the head, which decides when to poll next; a page further down; the end of reading those. */
export type ReadingKind = 'head' | 'page' | 'end';

/** Draws the conclusion of a reading: what changed, what is known from now on, when to read again; and commits it. */
export class PollConclusion {
  private readonly plans: PollPlans;

  constructor(
    private readonly store: FeedStore,
    private readonly binder: SendBinder,
    private readonly lastForms: LastForms,
    private readonly settings: FeedSettings,
    private readonly logger: Logger,
    private readonly volatile?: VolatileFieldStore,
  ) {
    const { min: minMs, max: maxMs } = settings.interval;
    this.plans = new PollPlans((account) => store.contactRates(account), { minMs, maxMs });
  }

  /**
   * @param known what is known of the messages that were read; at an end, of all
   * @returns whether it was committed, or there was nothing to commit: not if another reading of the contact was committed
   * meanwhile
   */
  async commit(
    start: PollStart,
    reading: Reading,
    known: ReadonlyMap<string, KnownMessage>,
    kind: ReadingKind,
  ): Promise<boolean> {
    const { account, contactId, state, resync } = start;
    const observed = oldestFirst(reading.served, reading.order);
    const fingerprints = new Map(observed.map((message) => [message.id, fingerprintOf(message)]));
    const sends = await this.sendsIn(start, reading, observed, fingerprints, known);
    const revisionFloor = resync === undefined ? state.memory.revisionFloor : floorAfterLoss(state);
    const firstRead = this.firstRead(start);
    const changes = diff({
      contactId,
      observed,
      known,
      fingerprints,
      volatility: unpackVolatility(state.extension.volatile),
      sends,
      ...(firstRead === undefined ? {} : { firstRead }),
      revisionFloor: Math.max(state.revisionFloor, revisionFloor ?? 0),
    });
    const absence =
      reading.everything?.stable === true
        ? this.absences(start, reading, reading.everything, known)
        : undefined;
    const next = new Map([...changes.known, ...(absence?.known ?? [])]);
    const unreadable = markUnreadable(state.memory.unreadable, reading.unreadable);
    if (kind === 'page' && resync === undefined && next.size === 0 && unreadable.fresh === 0) return true;
    const events: NewEvent[] = [
      ...(resync === undefined ? [] : [resyncEvent(contactId, state, resync)]),
      ...changes.events,
    ];
    events.push(...(await this.deletions(account, contactId, absence?.deleted ?? [])));
    const suspected = absence?.suspected ?? 0;
    const suspicion = suspected > 0 ? suspicionOf(contactId, state, suspected) : undefined;
    if (suspicion !== undefined) events.push(suspicion);
    if (unreadable.fresh > 0) {
      this.logger.warn({ account, contactId, count: unreadable.fresh }, 'unreadable messages are skipped');
    }
    const memory = remember({
      state,
      afresh: resync !== undefined,
      reading,
      known,
      next,
      absence,
      unreadable: unreadable.marks,
      revisionFloor,
      settings: this.settings,
    });
    const { readAt } = state.extension;
    const arrivals = arrivalsIn({ contactId, startedAt: state.now, readAt, observed, events });
    const schedule = kind === 'head' ? await this.schedule(start, reading, memory, arrivals) : undefined;
    const extension = this.extensionAfter(start, reading, kind, changes.volatile);
    const isQuiet =
      kind === 'head' &&
      resync === undefined &&
      // Whoever honours a call to hasten refuses all that began before it.
      state.hastened === 0 &&
      next.size === 0 &&
      events.length === 0 &&
      isSameMemory(memory, state.memory);
    const done = await this.store.commitPoll(account, contactId, {
      version: state.version,
      life: state.life,
      hastened: state.hastened,
      afresh: resync !== undefined,
      ...(suspected > 0 ? { suspectAt: state.now } : {}),
      suspicion: suspicionIn(memory, state.memory, resync !== undefined),
      ...(reading.served.length > 0 ? { shownAt: state.now } : {}),
      ...(reading.longestPage > state.longestPage ? { longestPage: reading.longestPage } : {}),
      unreadable: unreadable.fresh,
      known: next,
      events,
      ...(isQuiet ? {} : { memory }),
      ...(extension === undefined ? {} : { extension: { ...extension, ...schedule?.extension } }),
      ...(schedule === undefined ? {} : { bucket: schedule.bucket, dueInMs: schedule.dueInMs }),
      baseline: baselineAfter(start, reading),
      deep: this.deepAfter(start, reading, memory, kind),
      numbers: numbersIn(reading.served.filter(({ id }) => next.has(id))),
      report: {
        startedAt: state.now,
        ...(reading.date === undefined ? {} : { upstreamDate: reading.date }),
        arrivals: kind === 'head' ? arrivals : [],
        interval: this.settings.interval,
        ...(unreadable.fresh > 0 && reading.skipped > 0 ? { skipped: unreadable.fresh } : {}),
      },
    });
    if (done && reading.learns) await this.sayVolatile(account, contactId, changes.volatile);
    return done;
  }

  private async sayVolatile(
    account: string,
    contactId: string,
    { newlyMuted: muted, newlyHeard: heard }: Lesson,
  ): Promise<void> {
    if (muted.length > 0) {
      this.logger.info(
        { account, contactId, fields: muted },
        'message fields are muted: they differ at nearly every read',
      );
    }
    if (heard.length > 0) {
      this.logger.info({ account, contactId, fields: heard }, 'message fields are no longer muted');
    }
    await this.volatile?.countMessageFields(account, { muted, heard });
  }

  private async sendsIn(
    { account, contactId }: PollStart,
    { date }: Reading,
    observed: readonly UpstreamMessage[],
    fingerprints: ReadonlyMap<string, SeenFingerprint>,
    known: ReadonlyMap<string, KnownMessage>,
  ): Promise<ReadonlyMap<string, BoundSend>> {
    const outbound = observed.filter(({ direction }) => direction === 'outbound');
    const fresh = outbound.filter(({ id }) => !known.has(id));
    const changed = outbound.filter((message) =>
      isChanged(message, fingerprints.get(message.id), known.get(message.id)),
    );
    if (observed.length === 0) return new Map();
    return this.binder.bind({
      account,
      contactId,
      fresh,
      changed,
      ...(date === undefined ? {} : { upstreamNow: date }),
    });
  }

  /** When the head is to be polled next, by how often the contact changes. */
  private async schedule(
    { account, state, requestsPerSecond }: PollStart,
    { date }: Reading,
    memory: PollMemory,
    arrivals: readonly Arrival[],
  ): Promise<{ extension: { rate: Buffer }; bucket: number; dueInMs: number }> {
    const { now, extension } = state;
    // Upstream writes its clock in whole seconds.
    const aheadMs = date === undefined ? 0 : date + 500 - now;
    const before = extension.rate === undefined ? undefined : unpackRate(extension.rate);
    const rate = recordRead(before, {
      arrivals: arrivals.length,
      at: now,
      ...(extension.readAt === undefined ? {} : { since: extension.readAt }),
      times: arrivals.flatMap(({ timestamp }) => (timestamp === undefined ? [] : timestamp - aheadMs)),
    });
    const perSecond = rateOf(rate, now);
    const budget = requestsPerSecond ?? (await this.settings.readsPerSecond(account));
    const plan = await this.plans.planOf(account, budget, state.contacts);
    // What a reading could not settle is due still, but is not read again and again without a pause.
    const intervalMs = Math.min(plan.intervalMs(perSecond), lookDueInMs(memory, now));
    return {
      extension: { rate: packRate(rate) },
      bucket: bucketOf(perSecond),
      dueInMs: Math.max(intervalMs, this.settings.interval.min),
    };
  }

  /** What is to be read below the head after this: at once, later, nothing any more, or as it was decided before. */
  private deepAfter(
    { state, resync }: PollStart,
    { looked, needsEverything, order }: Reading,
    memory: PollMemory,
    kind: ReadingKind,
  ): PollCommit['deep'] {
    const { completeDueAt, completeAt, lookDueAt } = memory;
    if (kind === 'end') {
      return completeDueAt === undefined
        ? 'over'
        : { inMs: Math.max(completeDueAt - state.now, 0), anew: true };
    }
    if (resync !== undefined) return { inMs: 0, anew: true };
    if (kind === 'page') return 'unchanged';
    const isDue =
      state.tellAfter !== undefined ||
      completeAt === undefined ||
      completeAt + this.settings.sweepMs <= state.now ||
      (completeDueAt !== undefined && completeDueAt <= state.now) ||
      (!looked && lookDueAt !== undefined && lookDueAt <= state.now);
    if (!isDue) return 'unchanged';
    // Where the head does not show what is new, whoever reads it goes on at once; others only if that broke off.
    const goesOn = !isHeadEnough(order) && (needsEverything || state.tellAfter !== undefined);
    return { inMs: goesOn ? BROKEN_OFF_MS : 0, anew: false };
  }

  private extensionAfter(
    { state, resync }: PollStart,
    { headLimit, learns }: Reading,
    kind: ReadingKind,
    { volatility }: Lesson,
  ): ContactExtension | undefined {
    const before = state.extension;
    // The polls of the head, which go on meanwhile, know more of it.
    const isOver = kind === 'end' && before.resyncing === true;
    if (kind !== 'head' && !learns && !isOver && resync === undefined) return undefined;
    const after: ContactExtension = { ...before };
    if (resync !== undefined) after.resyncing = true;
    else if (kind === 'end') delete after.resyncing;
    if (learns) {
      delete after.volatile;
      if (volatility.size > 0) after.volatile = packVolatility(volatility);
    }
    if (kind !== 'head') return after;
    after.readAt = state.now;
    delete after.headLimit;
    delete after.headLimitUntil;
    if (headLimit !== undefined) {
      after.headLimit = headLimit;
      after.headLimitUntil =
        headLimit === before.headLimit && before.headLimitUntil !== undefined
          ? before.headLimitUntil
          : state.now + HEAD_LIMIT_MS;
    }
    return after;
  }

  private absences(
    { contactId, state }: PollStart,
    reading: Reading,
    { seen, knownBefore }: Everything,
    all: ReadonlyMap<string, KnownMessage>,
  ): AbsenceResult {
    // What became known while it was read was seen elsewhere.
    const known = new Map([...all].filter(([id]) => knownBefore.has(id) || seen.has(id)));
    const { suspectSince } = state.memory;
    const { listSuspectSince, believedAt = 0, suspectAt = 0, shownAt = 0 } = state;
    const listDoubted = listSuspectSince !== undefined && believedAt < listSuspectSince;
    // That one contact is empty says little, unless another one is suspect too, or none shows a message any more.
    const empty = seen.size === 0;
    const emptied = empty && isSuspect(suspectAt, state.now) && believedAt < suspectAt;
    const emptiedSince = Math.max(shownAt, believedAt);
    return absences({
      contactId,
      known,
      seen,
      now: state.now,
      apartMs: this.settings.absenceMs,
      believed: suspectSince !== undefined && believedAt >= suspectSince,
      doubted: listDoubted || emptied,
      unreadable: reading.skipped > (state.memory.skipped ?? 0),
      ...(empty && state.contacts > 1 ? { emptiedSince } : {}),
    });
  }

  private async deletions(
    account: string,
    contactId: string,
    deleted: AbsenceResult['deleted'],
  ): Promise<NewEvent[]> {
    if (deleted.length === 0) return [];
    const ids = deleted.map(({ id }) => id);
    const sends = await this.binder.sendsOf(account, contactId, ids);
    const events: NewEvent[] = [];
    for (const gone of deleted) {
      const last = await this.lastForms.lastForm(account, messageSubject(contactId, gone.id), gone.revision);
      events.push(deletionEvent(contactId, gone, last, sends.get(gone.id)));
    }
    return events;
  }

  private firstRead({ state, resync }: PollStart): FirstRead | undefined {
    // A new baseline after a loss: what is there now was there before.
    if (resync !== undefined) return 'silent';
    if (state.tellAfter === undefined) return undefined;
    const undated = state.extension.resyncing === true ? 'silent' : this.settings.undated;
    return { tellAfter: state.tellAfter, undated };
  }
}

/** A reading of everything that has not ended after so long is taken up by others. */
const BROKEN_OFF_MS = 30_000;

/** So long a shorter first page is asked for, before a full one is tried again. */
const HEAD_LIMIT_MS = 600_000;

/** A first reading ends with the end of everything; a new baseline begins another one. */
function baselineAfter({ state, resync }: PollStart, { everything, date }: Reading): PollCommit['baseline'] {
  // Upstream writes its clock in whole seconds: what is stamped within the same one was there before.
  if (resync !== undefined) return { tellAfter: (date ?? state.now) + 1_000 };
  return everything === undefined ? 'unchanged' : 'over';
}

/** What the account is to know of the contact's suspicion, where that changes. */
function suspicionIn(
  { suspectSince }: PollMemory,
  before: PollMemory,
  afresh: boolean,
): PollCommit['suspicion'] {
  return suspectSince ?? (before.suspectSince !== undefined || afresh ? 'over' : undefined);
}

/** More than are told of one message between two losses within one second. */
const REVISIONS_A_SECOND = 1_000;

/**
 * After a loss, revisions go on above all that were used before, of every message that may ever be seen again: the same
 * revision would be the same event, which is not told twice. By the second there are fewer than the time has passed.
 */
function floorAfterLoss({ now, memory }: ContactState): number {
  return Math.max(Math.floor(now / 1_000), (memory.revisionFloor ?? 0) + REVISIONS_A_SECOND);
}

function isSameMemory(a: PollMemory, b: PollMemory): boolean {
  return packPollMemory(a).equals(packPollMemory(b));
}

function isChanged(
  message: UpstreamMessage,
  seen: SeenFingerprint | undefined,
  before: KnownMessage | undefined,
): boolean {
  return (
    before !== undefined &&
    seen !== undefined &&
    (before.delivered !== message.delivered ||
      before.read !== message.read ||
      before.deleted ||
      isTold(formChange(message, seen, before.fingerprint), ALL_HEARD))
  );
}

/** The contact's own numbers, as its messages show them. */
function numbersIn(messages: readonly UpstreamMessage[]): string[] {
  const numbers = messages.map(({ direction, from, to }) =>
    direction === 'outbound' ? to : direction === 'inbound' ? from : undefined,
  );
  return [...new Set(numbers.filter((number) => number !== undefined))];
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
