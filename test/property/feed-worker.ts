import {
  MIN_ABSENCE_UNTIL_DELETED_MS,
  ContactListPoller,
  ContactPoller,
  type FeedSource,
  type RecordedMessages,
  RedisFeedStore,
} from '#feed';
import { eventToJson, RedisEventLog } from '#events';
import { accountKeys, createLogger, type RedisClient } from '#platform';
import { MessageBinder } from '#relay';
import { type HttpUpstream, isMissingPageError, type UpstreamAddress, UpstreamError } from '#upstream';
import type { Simulator } from '../../apps/simulator/src/create-simulator.js';
import type { PageFault, Task } from './history.js';
import { type Gate, mortalRedis } from './mortal-redis.js';
import {
  type Beginning,
  type ListAttempt,
  type Oracle,
  type PollAttempt,
  type ReceivedEvent,
  Verdict,
} from './oracle.js';
import type { RowOracle } from './row-oracle.js';
import { HistoryRelayStore, type SendDesk } from './send-desk.js';
import { shiftedStore } from './shifted-store.js';
import type { UpstreamWitness } from './upstream-witness.js';

export const ACCOUNT = 'default';
export const SWEEP_MS = 3 * 3_600_000;
export const SETTLE_MS = 72 * 3_600_000;

/** Objects that the workers of one history share. */
export interface HistoryContext {
  redis: RedisClient;
  simulator: Simulator;
  witness: UpstreamWitness;
  upstream: HttpUpstream;
  address: UpstreamAddress;
  prefix: string;
  undated: 'silent' | 'emit';
  oracle: Oracle;
  rows: RowOracle;
  desk: SendDesk;
  now: () => number;
  note(line: string): void;
}

class WorkerDied extends Error {}

/** A worker process that polls and may die at any operation. Reports all its commits to the oracle. */
export class FeedWorker {
  dead = false;
  private task: Task = { read: 'list', contact: 0 };
  private operations = 0;
  private lastOperation: Promise<void> = Promise.resolve();
  private reads = 0;
  private turn: () => Promise<void> = () => Promise.resolve();
  private attempt: PollAttempt | undefined;
  /** What was known of the contact when the task first read it after the last commit of another worker. */
  private beginning: Beginning | undefined;
  /** True if upstream answered the last request for messages that the requested page does not exist. */
  private isAfterMissingPage = false;
  /** Number of the contact's commits that the task knows of: those before its last read, and its own. */
  private seenCommits: number | undefined;
  /** Pages that the task has read so far, without those whose commit was rejected. */
  private kept: PollAttempt['reads'] = [];
  private refused = false;
  /** True if a request for a page of this task failed. */
  private hasFailedRequest = false;
  /** Ids of the sends whose messages this worker found. */
  private readonly foundSends = new Set<string>();
  private began = 0;
  /** False if the clock moved between a read of the known state and the reply of upstream after it. */
  private isClockSteady = true;
  /** Number of kept pages that the oracle has judged. */
  private settled = 0;
  private listing: ListAttempt | undefined;
  /** State of the current commit. */
  private commitState: 'none' | 'asked' | 'done' = 'none';
  /** Returns true for the reply to an accepted commit, and false for any other reply. */
  private isAcceptance: (reply: unknown) => boolean = () => false;
  private readonly contacts: ContactPoller;
  private readonly list: ContactListPoller;
  private readonly log: RedisEventLog;

  /** @param name shows in the notes which of two workers did something */
  constructor(
    private readonly context: HistoryContext,
    private readonly name = 'a',
  ) {
    const { prefix, undated } = context;
    const redis = mortalRedis(context.redis, this.gate, (reply) => {
      if (this.commitState === 'asked' && this.isAcceptance(reply)) this.commitState = 'done';
    });
    const mortalLog = new RedisEventLog(redis, prefix);
    this.log = new RedisEventLog(context.redis, prefix);
    const store = shiftedStore(new RedisFeedStore(redis, prefix), {
      now: () => context.now(),
      beganPoll: (contactId) => {
        // Pages whose commit was rejected are read again.
        if (this.refused) this.refused = false;
        else this.keep();
        const { began, settled } = this;
        const { oracle } = context;
        const [commits, known] = [oracle.commitsOf(contactId), oracle.knownOf(contactId)];
        const reads = [...this.kept];
        // What other workers have committed is known to this one from here on.
        if (commits !== this.seenCommits) this.beginning = oracle.begin(contactId);
        this.seenCommits = commits;
        const { hasFailedRequest } = this;
        this.attempt = {
          ...{ contactId, began, now: context.now(), commits, known, reads, settled },
          hasFailedRequest,
        };
      },
      beganList: () => {
        const { lastListAt } = context.oracle;
        return () => {
          const now = context.now();
          this.listing = {
            now,
            date: now,
            lastListAt: [lastListAt, context.oracle.lastListAt],
            contacts: [],
          };
        };
      },
      committing: (commit, contactId) => this.commit(commit, contactId),
    });
    const recordedMessages: RecordedMessages = {
      lastRecordedForm: async (account, subject, revision) => {
        const event = await mortalLog.findRevision(account, subject, revision);
        return event === undefined ? undefined : (JSON.parse(event.data) as ReceivedEvent['data']).message;
      },
    };
    const logger = createLogger('property', 'silent');
    const sends = new HistoryRelayStore(redis, prefix, context.now, (sendId) => {
      context.desk.noteChange();
      this.foundSends.add(sendId);
    });
    this.contacts = new ContactPoller(
      store,
      this.source(),
      // No send has a file.
      new MessageBinder(sends, logger),
      recordedMessages,
      {
        interval: { min: 50, max: 60_000 },
        readsPerSecond: () => Promise.resolve(100),
        ...{ undated, settleMs: SETTLE_MS, sweepMs: SWEEP_MS, absenceMs: MIN_ABSENCE_UNTIL_DELETED_MS },
      },
      logger,
    );
    this.list = new ContactListPoller(store, this.source(), MIN_ABSENCE_UNTIL_DELETED_MS);
  }

  /**
   * Runs a task until its end or the worker's death.
   * @param turn waits until the next operation is allowed
   */
  async run(task: Task, contactId: string, turn: () => Promise<void>): Promise<void> {
    this.task = task;
    this.turn = turn;
    this.operations = 0;
    this.reads = 0;
    const faults = this.context.simulator.core.faults;
    try {
      if (task.read === 'list') await this.list.poll(ACCOUNT);
      else await this.readContact(contactId);
      this.note(`read ${task.read} ${contactId}: done, in ${this.operations} operations`);
    } catch (error) {
      if (!(error instanceof WorkerDied) && !(error instanceof UpstreamError)) throw error;
      this.note(`read ${task.read} ${contactId}: ${error.message || 'died'} at ${this.operations}`);
    } finally {
      faults.clear();
    }
  }

  /** Reads the new messages, then the due older pages. */
  private async readContact(contactId: string): Promise<void> {
    this.attempt = undefined;
    this.kept = [];
    this.refused = false;
    this.hasFailedRequest = false;
    this.began = this.context.now();
    this.settled = 0;
    this.isClockSteady = true;
    this.beginning = undefined;
    this.seenCommits = undefined;
    if (!(await this.contacts.pollHead(ACCOUNT, contactId))) return;
    const isHeadRefused = this.hasRefusals();
    const isAtItsEnd = await this.contacts.runDeepRead(ACCOUNT, contactId, 'poll');
    // If other workers committed first each time, their reads are judged instead.
    if (isAtItsEnd && !isHeadRefused && !this.hasRefusals()) this.judge();
  }

  private note(text: string): void {
    this.context.note(`${this.name}: ${text}`);
  }

  private keep(): void {
    if (this.attempt === undefined) return;
    const { contactId, reads } = this.attempt;
    const { oracle } = this.context;
    const commits = oracle.commitsOf(contactId);
    this.kept = reads;
    if (reads.length > this.settled && oracle.readOn(this.attempt)) this.settled = reads.length;
    // The oracle counts pages that it judges without a commit as a commit.
    if (commits === this.seenCommits) this.seenCommits = oracle.commitsOf(contactId);
  }

  private judge(): void {
    const { attempt, beginning } = this;
    if (attempt === undefined || beginning === undefined) return;
    this.context.oracle.ended(beginning, { ...attempt, hasFailedRequest: this.hasFailedRequest });
  }

  private hasRefusals(): boolean {
    return this.refused;
  }

  /** Checks that the log contains no events without a commit. @throws {Verdict} */
  async assertNoStrayEvents(): Promise<void> {
    this.context.oracle.stray(await this.news());
  }

  /** Runs the worker's concurrent operations one after another. */
  private readonly gate: Gate = (operation) => {
    const done = this.lastOperation.then(() => this.runOperation(operation));
    this.lastOperation = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  };

  private readonly runOperation: Gate = async (operation) => {
    if (this.dead) throw new WorkerDied();
    await this.turn();
    this.operations += 1;
    const { death } = this.task;
    if (death?.operation !== this.operations) return operation();
    this.dead = true;
    if (death.carriedOut) await operation();
    throw new WorkerDied();
  };

  private source(): FeedSource {
    const { upstream, address, witness } = this.context;
    return {
      listContacts: (_, __, newReader) =>
        this.gate(async () => {
          const fault = this.applyFault();
          const list = await upstream.listContacts(address, newReader);
          assertList(fault);
          const contacts = witness.contacts();
          if (this.listing !== undefined)
            this.listing = { ...this.listing, date: this.context.now(), contacts };
          return list;
        }),
      listMessages: (_, contactId, page, limit, __, knownDigest) =>
        this.gate(async () => {
          const fault = this.applyFault();
          const asked = this.context.oracle.commitsOf(contactId);
          const isCheckOfContact = this.isAfterMissingPage && page === 1 && limit === 1;
          this.isAfterMissingPage = false;
          const read = await upstream
            .listMessages(address, contactId, page, limit, knownDigest)
            .catch((error: unknown) => {
              this.isAfterMissingPage = page > 1 && isMissingPageError(error);
              if (this.isAfterMissingPage)
                this.attempt?.reads.push({ ...witness.pageAfterEnd(contactId, page, limit), commits: asked });
              else this.hasFailedRequest = true;
              throw error;
            });
          // The reply only shows that the contact exists.
          if (isCheckOfContact) return read;
          assertList(fault);
          if (this.attempt?.now !== this.context.now()) this.isClockSteady = false;
          const seen = witness.page(contactId, page, limit, fault);
          this.attempt?.reads.push({ ...seen, commits: asked });
          this.note(`  page ${page} of ${contactId}, ${limit}: ${seen.seen.map(({ id }) => id).join(' ')}`);
          return read;
        }),
    };
  }

  /** Applies the task's fault to the next reply, if this read is the faulty one. */
  private applyFault(): PageFault | undefined {
    this.reads += 1;
    this.context.witness.forget();
    const { fault } = this.task;
    if (fault?.read !== this.reads) return undefined;
    // Damaged elements are only tested in message pages, not in contact lists.
    if (this.task.read === 'list' && fault.kind.startsWith('poison')) return undefined;
    this.note(`  fault: ${fault.kind} ${fault.position}`);
    this.context.simulator.control('faults', { match: {}, fault: onWire(fault) });
    return fault;
  }

  /** Passes the read data to the oracle if the commit succeeded. */
  private async commit<T>(commit: () => Promise<T>, contactId: string | undefined): Promise<T> {
    this.isAcceptance = contactId === undefined ? (reply) => reply === 1 : isAcceptedPoll;
    this.commitState = 'asked';
    try {
      return await commit();
    } finally {
      const accepted = this.isDone();
      this.commitState = 'none';
      if (contactId !== undefined) this.refused = !accepted;
      const news = await this.news();
      this.note(`  ${accepted ? 'committed' : 'not committed'}: ${news.map(({ type }) => type).join(' ')}`);
      if (!accepted) this.context.oracle.stray(news);
      else if (contactId === undefined) {
        if (this.listing !== undefined) {
          this.context.oracle.committedList(this.listing, news);
          this.context.rows.committedList(this.listing.contacts, news);
        }
      } else if (this.attempt !== undefined) {
        await this.committedPoll(this.attempt, news);
        this.seenCommits = this.context.oracle.commitsOf(contactId);
        this.kept = this.attempt.reads;
        this.settled = this.kept.length;
      }
      await this.shiftSuspicion();
    }
  }

  private async committedPoll(attempt: PollAttempt, events: readonly ReceivedEvent[]): Promise<void> {
    const { oracle, rows, desk } = this.context;
    for (const send of await desk.changed()) rows.send(send);
    const knowledge = oracle.committedPoll(attempt, events, rows.boundMessages());
    const { contactId, now } = attempt;
    const { foundSends, isClockSteady } = this;
    rows.committedPoll({ contactId, now, knowledge, events, foundSends, isClockSteady });
  }

  private isDone(): boolean {
    return this.commitState === 'done';
  }

  /** Returns the events since the last call. */
  private async news(): Promise<ReceivedEvent[]> {
    const { events, next } = await this.log.read(ACCOUNT, cursors.get(this.context), 100_000);
    cursors.set(this.context, next);
    return events.map((event) => JSON.parse(eventToJson(event)) as ReceivedEvent);
  }

  /** Replaces a time that a script took from Redis' clock by the history's time. */
  private async shiftSuspicion(): Promise<void> {
    const key = accountKeys(this.context.prefix, ACCOUNT)('contact-list');
    const at = await this.context.redis.hget(key, 'suspectAt');
    if (at !== null && Number(at) < Date.now() + 86_400_000)
      await this.context.redis.hset(key, 'suspectAt', this.context.now());
  }
}

/**
 * Returns true for the reply to an accepted poll: a list of delays. Polls that found nothing new are committed together:
 * their reply is a list, when the next contact is due, and for each poll 1, or 0 if it was refused.
 */
function isAcceptedPoll(reply: unknown): boolean {
  if (!Array.isArray(reply)) return false;
  const [nextDue, isCommitted] = reply as unknown[];
  return !Array.isArray(nextDue) || isCommitted === 1;
}

/** Faults that leave the reply readable. */
const READABLE_FAULTS: ReadonlySet<PageFault['kind']> = new Set([
  'holeInPages',
  'poisonReplace',
  'poisonInsert',
]);

/** Position up to which each history's log was read. */
const cursors = new WeakMap<HistoryContext, Awaited<ReturnType<RedisEventLog['read']>>['next']>();

/** Checks that a damaged reply was not accepted as a list. @throws {Verdict} */
function assertList(fault: PageFault | undefined): void {
  if (fault === undefined || READABLE_FAULTS.has(fault.kind)) return;
  throw new Verdict(`a reply without a complete list (${fault.kind}) was accepted as a list`);
}

function onWire({ kind, position }: PageFault): object | string {
  switch (kind) {
    case 'status':
      return { kind: 'status', status: 503 };
    case 'holeInPages':
      return { kind: 'errorBody200', body: { messages: [], contacts: [] } };
    case 'truncatedBody':
      return { kind: 'truncatedJson', cut: 'body' };
    case 'truncatedConnection':
      return { kind: 'truncatedJson', cut: 'connection' };
    case 'poisonReplace':
      return { kind: 'poisonMessage', garbage: 'noId', mode: 'replace', position };
    case 'poisonInsert':
      return { kind: 'poisonMessage', garbage: 'null', mode: 'insert', position };
    case 'html':
    case 'emptyObject':
    case 'resetBefore':
    case 'resetAfter':
      return kind;
  }
}
