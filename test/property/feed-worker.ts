import {
  ABSENCE_MS,
  ContactListPoll,
  ContactPoll,
  type FeedSource,
  type LastForms,
  RedisFeedStore,
} from '#feed';
import { eventToJson, RedisEventLog } from '#events';
import { accountKeys, createLogger, type RedisClient, systemClock } from '#platform';
import { MessageBinder, RedisRelayStore } from '#relay';
import { type HttpUpstream, type UpstreamAddress, UpstreamError } from '#upstream';
import type { Simulator } from '../../apps/simulator/src/create-simulator.js';
import type { PageFault, Task } from './history.js';
import { type Gate, mortalRedis } from './mortal-redis.js';
import {
  type Beginning,
  type ListAttempt,
  type Oracle,
  type PollAttempt,
  type Told,
  Verdict,
} from './oracle.js';
import { shiftedStore } from './shifted-store.js';
import type { UpstreamWitness } from './upstream-witness.js';

const ACCOUNT = 'default';
export const SWEEP_MS = 3 * 3_600_000;
export const SETTLE_MS = 72 * 3_600_000;

/** What the workers of one history share. */
export interface Bench {
  redis: RedisClient;
  simulator: Simulator;
  witness: UpstreamWitness;
  upstream: HttpUpstream;
  address: UpstreamAddress;
  prefix: string;
  undated: 'silent' | 'emit';
  oracle: Oracle;
  now(): number;
  note(line: string): void;
}

class Died extends Error {}

/** One worker process: it reads, commits, and may die at any operation. The oracle hears of all that it commits. */
export class FeedWorker {
  dead = false;
  private task: Task = { read: 'list', contact: 0 };
  private operations = 0;
  private lastOperation: Promise<void> = Promise.resolve();
  private reads = 0;
  private turn: () => Promise<void> = () => Promise.resolve();
  private attempt: PollAttempt | undefined;
  /** What the task has read so far, but for what it was refused to commit. */
  private kept: PollAttempt['reads'] = [];
  private refused = false;
  private began = 0;
  /** So many of the reads that are kept were judged. */
  private settled = 0;
  private listing: ListAttempt | undefined;
  /** Of the commit that is under way. */
  private commitState: 'none' | 'asked' | 'done' = 'none';
  private readonly contacts: ContactPoll;
  private readonly list: ContactListPoll;
  private readonly log: RedisEventLog;

  constructor(private readonly bench: Bench) {
    const { prefix, undated } = bench;
    const redis = mortalRedis(bench.redis, this.gate, (reply) => {
      if (this.commitState === 'asked' && reply === 1) this.commitState = 'done';
    });
    const mortalLog = new RedisEventLog(redis, prefix);
    this.log = new RedisEventLog(bench.redis, prefix);
    const store = shiftedStore(new RedisFeedStore(redis, prefix), {
      now: () => bench.now(),
      beganPoll: (contactId) => {
        // What it was refused to commit is read again.
        if (this.refused) this.refused = false;
        else this.keep();
        const { began, settled } = this;
        const { oracle } = bench;
        const [commits, known] = [oracle.commitsOf(contactId), oracle.knownOf(contactId)];
        const reads = [...this.kept];
        this.attempt = { contactId, began, now: bench.now(), commits, known, reads, settled };
      },
      beganList: () => {
        const { lastListAt } = bench.oracle;
        return () => {
          const now = bench.now();
          this.listing = { now, date: now, lastListAt: [lastListAt, bench.oracle.lastListAt], contacts: [] };
        };
      },
      committing: (commit, contactId) => this.commit(commit, contactId),
    });
    const lastForms: LastForms = {
      lastForm: async (account, subject, revision) => {
        const event = await mortalLog.findRevision(account, subject, revision);
        return event === undefined ? undefined : (JSON.parse(event.data) as Told['data']).message;
      },
    };
    const logger = createLogger('property', 'silent');
    const sends = new RedisRelayStore(redis, prefix, systemClock);
    this.contacts = new ContactPoll(
      store,
      this.source(),
      // No send is under way: there is no file to remove.
      new MessageBinder(sends, logger),
      lastForms,
      {
        interval: { min: 50, max: 60_000 },
        readsPerSecond: () => Promise.resolve(100),
        ...{ undated, settleMs: SETTLE_MS, sweepMs: SWEEP_MS, absenceMs: ABSENCE_MS },
      },
      logger,
    );
    this.list = new ContactListPoll(store, this.source(), ABSENCE_MS);
  }

  /** Reads what the task says, to the end or to its death. @param turn waits until an operation may be made */
  async run(task: Task, contactId: string, turn: () => Promise<void>): Promise<void> {
    this.task = task;
    this.turn = turn;
    this.operations = 0;
    this.reads = 0;
    const faults = this.bench.simulator.core.faults;
    try {
      if (task.read === 'list') await this.list.poll(ACCOUNT);
      else await this.readContact(contactId);
      this.bench.note(`read ${task.read} ${contactId}: done, in ${this.operations} operations`);
    } catch (error) {
      if (!(error instanceof Died) && !(error instanceof UpstreamError)) throw error;
      this.bench.note(`read ${task.read} ${contactId}: ${error.message || 'died'} at ${this.operations}`);
    } finally {
      faults.clear();
    }
  }

  /** The head, then what is due below it. */
  private async readContact(contactId: string): Promise<void> {
    const { oracle } = this.bench;
    this.attempt = undefined;
    this.kept = [];
    this.refused = false;
    this.began = this.bench.now();
    this.settled = 0;
    const before = oracle.begin(contactId);
    if (!(await this.contacts.pollHead(ACCOUNT, contactId))) return;
    const isAtItsEnd = await this.contacts.readDeep(ACCOUNT, contactId, 'poll');
    // Others may have been faster each time: then their reads are judged.
    if (isAtItsEnd && !this.hasRefusals()) this.judge(before);
  }

  private keep(): void {
    if (this.attempt === undefined) return;
    const { reads } = this.attempt;
    this.kept = reads;
    if (reads.length > this.settled && this.bench.oracle.readOn(this.attempt)) this.settled = reads.length;
  }

  private judge(before: Beginning): void {
    if (this.attempt !== undefined) this.bench.oracle.ended(before, this.attempt);
  }

  private hasRefusals(): boolean {
    return this.refused;
  }

  /** @throws {Verdict} if the log holds events that no commit told of */
  async assertNothingStray(): Promise<void> {
    this.bench.oracle.stray(await this.news());
  }

  /** What the worker asks for at once it does one after the other. */
  private readonly gate: Gate = (operation) => {
    const done = this.lastOperation.then(() => this.one(operation));
    this.lastOperation = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  };

  private readonly one: Gate = async (operation) => {
    if (this.dead) throw new Died();
    await this.turn();
    this.operations += 1;
    const { death } = this.task;
    if (death?.operation !== this.operations) return operation();
    this.dead = true;
    if (death.carriedOut) await operation();
    throw new Died();
  };

  private source(): FeedSource {
    const { upstream, address, witness } = this.bench;
    return {
      listContacts: (_, __, newReader) =>
        this.gate(async () => {
          const fault = this.strike();
          const list = await upstream.listContacts(address, newReader);
          assertList(fault);
          const contacts = witness.contacts();
          if (this.listing !== undefined)
            this.listing = { ...this.listing, date: this.bench.now(), contacts };
          return list;
        }),
      listMessages: (_, contactId, page, limit) =>
        this.gate(async () => {
          const fault = this.strike();
          const asked = this.bench.oracle.commitsOf(contactId);
          const read = await upstream.listMessages(address, contactId, page, limit);
          assertList(fault);
          const seen = witness.page(contactId, page, limit, fault);
          this.attempt?.reads.push({ ...seen, commits: asked });
          this.bench.note(
            `  page ${page} of ${contactId}, ${limit}: ${seen.seen.map(({ id }) => id).join(' ')}`,
          );
          return read;
        }),
    };
  }

  /** Lets the task's fault strike the next reply, if it is its turn. */
  private strike(): PageFault | undefined {
    this.reads += 1;
    this.bench.witness.forget();
    const { fault } = this.task;
    if (fault?.read !== this.reads) return undefined;
    // A contact is not a message: what is wrong with one is another matter.
    if (this.task.read === 'list' && fault.kind.startsWith('poison')) return undefined;
    this.bench.note(`  fault: ${fault.kind} ${fault.position}`);
    this.bench.simulator.control('faults', { match: {}, fault: onWire(fault) });
    return fault;
  }

  /** What was read is handed to the oracle when, and only if, it was committed. */
  private async commit(commit: () => Promise<boolean>, contactId: string | undefined): Promise<boolean> {
    this.commitState = 'asked';
    try {
      return await commit();
    } finally {
      const accepted = this.isDone();
      this.commitState = 'none';
      if (contactId !== undefined) this.refused = !accepted;
      const news = await this.news();
      this.bench.note(
        `  ${accepted ? 'committed' : 'not committed'}: ${news.map(({ type }) => type).join(' ')}`,
      );
      if (!accepted) this.bench.oracle.stray(news);
      else if (contactId === undefined) {
        if (this.listing !== undefined) this.bench.oracle.committedList(this.listing, news);
      } else if (this.attempt !== undefined) {
        this.bench.oracle.committedPoll(this.attempt, news);
        this.kept = this.attempt.reads;
        this.settled = this.kept.length;
      }
      await this.shiftSuspicion();
    }
  }

  private isDone(): boolean {
    return this.commitState === 'done';
  }

  /** What subscribers get since this was last asked. */
  private async news(): Promise<Told[]> {
    const { events, next } = await this.log.read(ACCOUNT, cursors.get(this.bench), 100_000);
    cursors.set(this.bench, next);
    return events.map((event) => JSON.parse(eventToJson(event)) as Told);
  }

  /** What scripts wrote down by Redis' own clock becomes a time of this history. */
  private async shiftSuspicion(): Promise<void> {
    const key = accountKeys(this.bench.prefix, ACCOUNT)('contact-list');
    const at = await this.bench.redis.hget(key, 'suspectAt');
    if (at !== null && Number(at) < Date.now() + 86_400_000)
      await this.bench.redis.hset(key, 'suspectAt', this.bench.now());
  }
}

/** The faults that leave a reply readable. */
const WITH_A_LIST: ReadonlySet<PageFault['kind']> = new Set(['holeInPages', 'poisonReplace', 'poisonInsert']);

/** How far each history's log was read. */
const cursors = new WeakMap<Bench, Awaited<ReturnType<RedisEventLog['read']>>['next']>();

/** @throws {Verdict} if the reply held no list that is whole, and was taken for one */
function assertList(fault: PageFault | undefined): void {
  if (fault === undefined || WITH_A_LIST.has(fault.kind)) return;
  throw new Verdict(`a reply that holds no whole list (${fault.kind}) was taken for one`);
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
