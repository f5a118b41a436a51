import type { NewEvent } from '#events';
import type { Logger } from '#platform';
import type { UpstreamMessage } from '#upstream';
import { type AbsenceResult, absences, deletionEvent, isSuspect, suspectEvent } from './absence.js';
import { intervalFor, recordActivity, shareOf } from './adaptive-interval.js';
import { arrivalsIn } from './delay/poll-report.js';
import { diff, messageSubject } from './diff.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState, FeedStore, PollCommit } from './feed-store.js';
import { type Fingerprint, fingerprintOf, isSameForm } from './fingerprint.js';
import type { FirstRead } from './first-read.js';
import type { KnownMessage } from './known-message.js';
import { oldestFirst } from './page-order.js';
import type { WalkResult } from './page-walk.js';
import { markUnreadable, type PollMemory } from './poll-memory.js';
import { dueInMs, remember } from './poll-recollection.js';
import type { LastForms, SendBinder } from './ports.js';

/** What is known of a contact before its pages are read. */
export interface PollStart {
  account: string;
  contactId: string;
  state: ContactState;
  /** Why a new baseline is taken: a part was lost. */
  resync?: string;
  /** Everything that is known, where it had to be read. */
  all?: ReadonlyMap<string, KnownMessage>;
}

/** Draws the conclusion of a read: what changed, what is known from now on, when to read again; and commits it. */
export class PollConclusion {
  constructor(
    private readonly store: FeedStore,
    private readonly binder: SendBinder,
    private readonly lastForms: LastForms,
    private readonly settings: FeedSettings,
    private readonly logger: Logger,
  ) {}

  /** Whether it was committed: not if another poll of the contact was committed meanwhile. */
  async commit(
    start: PollStart,
    walk: WalkResult,
    known: ReadonlyMap<string, KnownMessage>,
  ): Promise<boolean> {
    const { account, contactId, state, resync } = start;
    const observed = oldestFirst(walk.served, walk.order);
    const fingerprints = new Map(observed.map((message) => [message.id, fingerprintOf(message)]));
    const outbound = observed.filter(({ direction }) => direction === 'outbound');
    const sends = await this.binder.bind({
      account,
      contactId,
      fresh: outbound.filter(({ id }) => !known.has(id)),
      changed: outbound.filter((message) =>
        isChanged(message, fingerprints.get(message.id), known.get(message.id)),
      ),
      ...(walk.date === undefined ? {} : { upstreamNow: walk.date }),
    });
    const firstRead = this.firstRead(start);
    const revisionFloor = resync === undefined ? state.memory.revisionFloor : floorAfterLoss(state);
    const changes = diff({
      contactId,
      observed,
      known,
      fingerprints,
      sends,
      ...(firstRead === undefined ? {} : { firstRead }),
      revisionFloor: Math.max(state.revisionFloor, revisionFloor ?? 0),
    });
    const absence = walk.stable ? this.absences(start, walk, known) : undefined;
    const next = new Map([...changes.known, ...(absence?.known ?? [])]);
    const events: NewEvent[] = [
      ...(resync === undefined ? [] : [resyncEvent(contactId, state, resync)]),
      ...changes.events,
    ];
    events.push(...(await this.deletions(account, contactId, absence?.deleted ?? [])));
    const suspected = absence?.suspected ?? 0;
    const suspicion = suspected > 0 ? suspicionOf(contactId, state, suspected) : undefined;
    if (suspicion !== undefined) events.push(suspicion);

    const unreadable = markUnreadable(state.memory.unreadable, walk.unreadable);
    if (unreadable.fresh > 0) {
      this.logger.warn({ account, contactId, count: unreadable.fresh }, 'unreadable messages are skipped');
    }
    const memory = remember({
      state,
      afresh: resync !== undefined,
      walk,
      known,
      next,
      absence,
      unreadable: unreadable.marks,
      revisionFloor,
      settings: this.settings,
    });
    const activity = recordActivity(state.memory.activity, events.length, state.now);
    const share = shareOf(activity);
    const reads = await this.settings.readsPerSecond(account);
    const { interval: bounds, sweepMs } = this.settings;
    const interval = intervalFor(share, state.shares - state.share + share, reads, bounds);
    return this.store.commitPoll(account, contactId, {
      version: state.version,
      life: state.life,
      hastened: state.hastened,
      afresh: resync !== undefined,
      ...(suspected > 0 ? { suspectAt: state.now } : {}),
      suspicion: suspicionIn(memory, state.memory, resync !== undefined),
      ...(walk.served.length > 0 ? { shownAt: state.now } : {}),
      unreadable: unreadable.fresh,
      known: next,
      events,
      memory: { ...memory, activity },
      share,
      // What a read could not settle is due still, but is not read again and again without a pause.
      dueInMs: Math.max(Math.min(interval, dueInMs(memory, state.now, sweepMs)), bounds.min),
      numbers: numbersIn(walk.served.filter(({ id }) => next.has(id))),
      report: {
        startedAt: state.now,
        ...(walk.date === undefined ? {} : { upstreamDate: walk.date }),
        arrivals: arrivalsIn({ contactId, startedAt: state.now, readAt: state.readAt, observed, events }),
        interval: bounds,
      },
    });
  }

  private absences(
    { contactId, state }: PollStart,
    walk: WalkResult,
    known: ReadonlyMap<string, KnownMessage>,
  ): AbsenceResult {
    const { suspectSince } = state.memory;
    const { listSuspectSince, believedAt = 0, suspectAt = 0, shownAt = 0 } = state;
    const listDoubted = listSuspectSince !== undefined && believedAt < listSuspectSince;
    // That one contact is empty says little, unless another one is suspect too, or none shows a message any more.
    const empty = walk.served.length === 0;
    const emptied = empty && isSuspect(suspectAt, state.now) && believedAt < suspectAt;
    const emptiedSince = Math.max(shownAt, believedAt);
    return absences({
      contactId,
      known,
      seen: new Set(walk.served.map(({ id }) => id)),
      now: state.now,
      apartMs: this.settings.absenceMs,
      believed: suspectSince !== undefined && believedAt >= suspectSince,
      doubted: listDoubted || emptied || walk.skipped > (state.memory.skipped ?? 0),
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
    const { undated } = this.settings;
    // A new baseline after a loss: what is there now was there before.
    if (resync !== undefined) return 'silent';
    return state.tellAfter === undefined ? undefined : { tellAfter: state.tellAfter, undated };
  }
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

function isChanged(
  message: UpstreamMessage,
  fingerprint: Fingerprint | undefined,
  before: KnownMessage | undefined,
): boolean {
  return (
    before !== undefined &&
    fingerprint !== undefined &&
    (before.delivered !== message.delivered ||
      before.read !== message.read ||
      before.deleted ||
      !isSameForm(before.fingerprint, fingerprint))
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
