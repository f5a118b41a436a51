import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
import {
  type RequestedSend,
  boundShare,
  judgeRelay,
  type RelayFault,
  type RelayHistory,
  type ShownSend,
  type AcceptedText,
} from '../support/oracle/relay-oracle.js';
import { type ProductProcess, startProcess } from '../support/process.js';
import { Product } from '../support/product.js';
import type { RedisLayout } from '../support/redis-process.js';

/** Faults of the POST requests, each with a probability of 5 %. More than half of all POST requests fail. */
const FAULTS: readonly object[] = [
  { kind: 'status', status: 429, retryAfter: 1 },
  { kind: 'status', status: 500 },
  { kind: 'status', status: 503 },
  { kind: 'statusAfter', status: 500 },
  { kind: 'timeoutBefore' },
  { kind: 'timeoutAfter' },
  { kind: 'resetBefore' },
  { kind: 'resetAfter' },
  { kind: 'resetDuringUpload' },
  { kind: 'html' },
  { kind: 'html', processed: true },
  { kind: 'emptyObject' },
  { kind: 'emptyObject', processed: true },
  { kind: 'errorBody200' },
  { kind: 'errorBody200', processed: true },
  { kind: 'truncatedJson', cut: 'body' },
  { kind: 'truncatedJson', cut: 'connection' },
  { kind: 'slow', delayMs: 1_500 },
  { kind: 'drip', bytes: 20, intervalMs: 10 },
  { kind: 'invalidUtf8' },
  { kind: 'poisonMessage' },
];
/** Faults after which it is certain that upstream accepted the send. */
const UNAMBIGUOUS = new Set(['drip', 'invalidUtf8']);
/** Faults of read requests, so that look-ups fail too. */
const READ_FAULTS: readonly object[] = [{ kind: 'status', status: 500 }, { kind: 'resetBefore' }];

const ENVIRONMENT = {
  LOG_LEVEL: 'warn',
  UPSTREAM_TIMEOUT_MS: '1000',
  UPSTREAM_REQUESTS_PER_SECOND: '500',
  SEND_CONFIRM_MS: '4000',
};
const CALLERS = 16;
const MAX_KILL_PAUSE_MS = 3_000;
const PAGE = 10_000;
const OPEN: ReadonlySet<string> = new Set(['queued', 'relaying', 'scheduled']);
const RECIPIENTS = '+1415555';
const DISTURB_EVERY_MS = 200;
const OPERATE_EVERY_MS = 1_000;
/**
 * Duration of a suspension, in milliseconds. Longer than a POST may take, and longer than other workers wait
 * for a POST.
 */
const SUSPENDED_MS = 8_000;

interface LedgerPage {
  entries: {
    kind: string;
    method?: string;
    path?: string;
    status?: number | null;
    fault?: string | null;
    aborted?: boolean;
    phoneNumber?: string;
    message?: string | null;
    messageIds?: string[];
  }[];
  next: number;
  hasMore: boolean;
}

/** The size of a trial. */
export interface TrialSize {
  sends: number;
  recipients: number;
  /** Delay of each caller between two sends, in milliseconds. */
  everyMs?: number;
}

/** Numbers of disturbances: deleted contacts, phone numbers used by other contacts, and suspended workers. */
export interface Disturbances {
  deleted: number;
  held: number;
  suspended: number;
}

/** The result of a trial: violated rules, and counts to print. */
export interface RelayVerdict {
  faults: RelayFault[];
  counts: {
    asked: number;
    taken: number;
    bound: number;
    boundOf: number;
    unknown: number;
    ambiguousFaults: number;
    faults: Record<string, number>;
    statuses: Record<string, number>;
  };
}

/** The whole product with two workers, a faulty upstream, and callers that send texts. */
export class RelayTrial<Layout extends RedisLayout> implements AsyncDisposable {
  /** Sends that were answered with 200. */
  readonly asked: RequestedSend[] = [];
  /** Texts whose request was not answered with 200. */
  readonly unanswered = new Set<string>();
  private second: ProductProcess | undefined;
  private readonly logsOfKilled: string[] = [];

  private constructor(
    readonly product: Product<Layout>,
    private readonly size: TrialSize,
  ) {}

  static async start<Layout extends RedisLayout>(
    redis: Layout,
    size: TrialSize,
  ): Promise<RelayTrial<Layout>> {
    const trial = new RelayTrial(await Product.startOn(redis, ENVIRONMENT), size);
    try {
      await trial.startSecond();
      await trial.product.simulate('faults', [
        ...FAULTS.map((fault) => ({ match: { method: 'POST' }, fault, probability: 0.05 })),
        ...READ_FAULTS.map((fault) => ({ match: { method: 'GET' }, fault, probability: 0.05 })),
      ]);
    } catch (error) {
      await trial[Symbol.asyncDispose]();
      throw error;
    }
    return trial;
  }

  /**
   * Sends all texts with several concurrent callers. Each recipient has one caller, which waits for every
   * reply.
   */
  async send(): Promise<void> {
    const { sends, recipients, everyMs = 0 } = this.size;
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      for (let i = 0; i < sends; i += 1) {
        if ((i % recipients) % CALLERS !== caller) continue;
        await this.sendOne(i);
        await pause(everyMs);
      }
    });
    await Promise.all(callers);
  }

  /** Kills and restarts a random worker the given number of times. */
  async kill(times: number): Promise<void> {
    const restarts = [Promise.resolve(), Promise.resolve()];
    for (let kills = 0; kills < times; kills += 1) {
      await pause(Math.random() * MAX_KILL_PAUSE_MS);
      const victim = Math.random() < 0.5 ? 0 : 1;
      await restarts[victim];
      restarts[victim] = victim === 0 ? this.replaceFirst() : this.replaceSecond();
    }
    await Promise.all(restarts);
  }

  /**
   * Disturbs the relay the given number of times, one disturbance after another: deletes a contact (the next
   * send creates the contact again), stores a contact's number in a field of another contact, or suspends a
   * worker for longer than a request may take.
   */
  async disturb(times: number): Promise<Disturbances> {
    const done: Disturbances = { deleted: 0, held: 0, suspended: 0 };
    for (let n = 0; n < times; n += 1) {
      await pause(DISTURB_EVERY_MS);
      if (n % 30 === 29) {
        await this.suspendSecond();
        done.suspended += 1;
        continue;
      }
      const contacts = await this.contacts();
      const contact = contacts[Math.floor(Math.random() * contacts.length)];
      if (contact === undefined) continue;
      if (n % 2 === 0) {
        await this.product.simulate('contacts/delete', { contactId: contact.id });
        done.deleted += 1;
      } else {
        const fields = { referredBy: contact.phoneNumber };
        await this.product.simulate('contacts', { phoneNumber: `+1416555${String(1_000 + n)}`, ...fields });
        done.held += 1;
      }
    }
    return done;
  }

  /**
   * Confirms deletions whenever the readiness check reports that many contacts vanished, as an operator does.
   */
  async operate(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const ready = await this.product.call('GET', '/health/ready');
      const { details } = (await ready.json()) as { details: { code: string }[] };
      if (details.some(({ code }) => code === 'contacts_vanished'))
        await this.product.call('POST', '/v1/accounts/default/confirm-deletions');
      await pause(OPERATE_EVERY_MS);
    }
  }

  /**
   * Waits until every send has ended, or until a deadline.
   * @param ends `accepted` is true if `accepted` counts as an end: the message may be deleted before it is
   * seen
   */
  async settle(withinMs: number, ends: { accepted: boolean } = { accepted: false }): Promise<ShownSend[]> {
    const isOpen = (status: string): boolean => OPEN.has(status) || (status === 'accepted' && !ends.accepted);
    const ended = new Map<string, ShownSend>();
    const gone = new Set<string>();
    let open: ShownSend[] = [];
    const end = performance.now() + withinMs;
    do {
      open = [];
      const waiting = this.asked.filter(({ id }) => !ended.has(id) && !gone.has(id));
      for (let i = 0; i < waiting.length; i += CALLERS) {
        const views = await Promise.all(waiting.slice(i, i + CALLERS).map(({ id }) => this.look(id)));
        for (const [k, view] of views.entries()) {
          if (view === undefined) gone.add(waiting[i + k]?.id ?? '');
          else if (isOpen(view.status)) open.push(view);
          else ended.set(view.id, view);
        }
      }
      await pause(500);
    } while (open.length > 0 && performance.now() < end);
    // Read `unknown` sends again: a late match may have changed their status.
    const late = [...ended.values()].filter(({ status }) => status === 'unknown');
    for (const { id } of late) {
      const view = await this.look(id);
      if (view !== undefined) ended.set(id, view);
    }
    return [...ended.values(), ...open];
  }

  async judge(shown: readonly ShownSend[]): Promise<RelayVerdict> {
    const taken: AcceptedText[] = [];
    const faults: Record<string, number> = {};
    let ambiguousFaults = 0;
    for (const entry of await this.ledger(['send.accepted', 'request'])) {
      if (entry.kind === 'send.accepted') {
        const { phoneNumber = '', message, messageIds = [] } = entry;
        taken.push({ phoneNumber, message: message ?? '', messageIds });
      } else if (entry.method === 'POST' && entry.fault != null) {
        faults[entry.fault] = (faults[entry.fault] ?? 0) + 1;
        if (entry.status !== 429 && !UNAMBIGUOUS.has(entry.fault)) ambiguousFaults += 1;
      }
    }
    const history: RelayHistory = {
      requested: this.asked,
      shown,
      accepted: taken,
      withoutReply: this.unanswered,
    };
    const { bound, of } = boundShare(history);
    const statuses: Record<string, number> = {};
    for (const { status } of shown) statuses[status] = (statuses[status] ?? 0) + 1;
    return {
      faults: judgeRelay(history),
      counts: {
        asked: this.asked.length,
        taken: taken.length,
        bound,
        boundOf: of,
        unknown: statuses.unknown ?? 0,
        ambiguousFaults,
        faults,
        statuses,
      },
    };
  }

  /** Returns the output of each worker, including killed workers. */
  workerLogs(): string[] {
    return [...this.logsOfKilled, this.product.worker.output(), this.second?.output() ?? ''];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.second?.stop().catch(() => undefined);
    await this.product[Symbol.asyncDispose]();
  }

  private async sendOne(i: number): Promise<void> {
    const phoneNumber = `${RECIPIENTS}${String(1_000 + (i % this.size.recipients))}`;
    const message = `Text ${i} 👋`;
    const body = { phoneNumber, message };
    const response = await this.product.call('POST', '/v1/messages/send', body).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (response?.status !== 200 || text === undefined) {
      this.unanswered.add(message);
      return;
    }
    this.asked.push({ id: (JSON.parse(text) as { id: string }).id, phoneNumber, message });
  }

  /** Returns a send, or undefined if the send does not exist. */
  private async look(id: string): Promise<ShownSend | undefined> {
    return await eventually(`${id} can be read`, async () => {
      const response = await this.product.call('GET', `/v1/sends/${id}`);
      if (response.status === 404) return { view: undefined };
      if (!response.ok) return undefined;
      return { view: (await response.json()) as ShownSend };
    }).then(({ view }) => view);
  }

  private async ledger(kind: string[]): Promise<LedgerPage['entries']> {
    const entries: LedgerPage['entries'] = [];
    for (let since = 0, more = true; more;) {
      const page = await this.product.simulate<LedgerPage>('ledger', { since, kind, limit: PAGE });
      entries.push(...page.entries);
      [since, more] = [page.next, page.hasMore];
    }
    return entries;
  }

  /** Returns the contacts of recipients that exist now. */
  private async contacts(): Promise<{ id: string; phoneNumber: string }[]> {
    const response = await this.product.call('GET', '/v1/contacts');
    if (!response.ok) return [];
    const { contacts } = (await response.json()) as { contacts: { id: string; phoneNumber: string }[] };
    return contacts.filter(({ phoneNumber }) => phoneNumber.startsWith(RECIPIENTS));
  }

  private async suspendSecond(): Promise<void> {
    this.second?.child.kill('SIGSTOP');
    await pause(SUSPENDED_MS);
    this.second?.child.kill('SIGCONT');
  }

  private async startSecond(): Promise<void> {
    this.second = await startProcess('worker', { ...this.product.environment(), WORKER_PORT: '0' });
  }

  private async replaceFirst(): Promise<void> {
    await this.product.worker.stop('SIGKILL');
    this.logsOfKilled.push(this.product.worker.output());
    await this.product.startWorker();
  }

  private async replaceSecond(): Promise<void> {
    await this.second?.stop('SIGKILL');
    this.logsOfKilled.push(this.second?.output() ?? '');
    await this.startSecond();
  }
}

/** Records the length of an append-only file over time. */
export class AppendOnlyWatch implements Disposable {
  private readonly lengths: { at: number; length: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  private constructor(private readonly file: string) {}

  /**
   * Starts recording.
   * @param dataDirectory data directory of a Redis with an append-only file
   */
  static async on(dataDirectory: string): Promise<AppendOnlyWatch> {
    const directory = join(dataDirectory, 'appendonlydir');
    const names = (await readdir(directory)).filter((name) => name.endsWith('.incr.aof'));
    const [name] = names;
    if (name === undefined || names.length > 1) throw new Error(`expected one file, found: ${names.join()}`);
    const watch = new AppendOnlyWatch(join(directory, name));
    await watch.note();
    watch.timer = setInterval(() => void watch.note(), 50);
    return watch;
  }

  /** Returns the time since recording started, in milliseconds. */
  watchedMs(): number {
    return performance.now() - (this.lengths[0]?.at ?? Infinity);
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }

  /** Removes what was written in the last `lastMs` milliseconds. Returns the number of removed bytes. */
  async cutOff(lastMs: number): Promise<number> {
    clearInterval(this.timer);
    const since = performance.now() - lastMs;
    const before = this.lengths.filter(({ at }) => at <= since).at(-1);
    if (before === undefined) throw new Error(`the file was not watched for ${lastMs} ms`);
    const { size } = await stat(this.file);
    const file = await open(this.file, 'r+');
    await file.truncate(before.length);
    await file.close();
    return size - before.length;
  }

  private async note(): Promise<void> {
    const at = performance.now();
    const { size } = await stat(this.file);
    this.lengths.push({ at, length: size });
  }
}
