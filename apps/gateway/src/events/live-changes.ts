import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '#accounts';
import {
  type Conversation,
  type ConversationChanges,
  type Conversations,
  emptyConversation,
  type SendStatusNotice,
} from '#conversations';
import type { Logger } from '#platform';
import { ContactAccess } from '../auth/contact-access.js';
import { ConversationReads } from '../conversations/conversation-reads.js';
import { isStoreFault } from '../problems/store-fault.js';
import { CONVERSATION_CHANGES, CONVERSATIONS, LOGGER } from '../tokens.js';
import type { LiveType } from './live-types.js';
import { liveFrame } from './sse-frames.js';

/** Minimum time between two reports of one conversation, in milliseconds. */
const ROW_INTERVAL_MS = 250;
/** Number of rows that are read from Redis at once. */
const ROWS_A_READ = 100;
/** Maximum number of changed conversations of one account that wait to be read. */
const MAX_CHANGED_ROWS = 2_000;
/** The id of a row without a contact. */
const PHONE_NUMBER = /^\+\d+$/;
/** Maximum number of frames that wait until a client can receive them. */
const MAX_WAITING_FRAMES = 2_000;

/** Live changes that wait until the client of a stream can receive them. */
export class LiveQueue {
  private readonly rows = new Map<string, string>();
  private sends: string[] = [];
  /** True if changes were missed: the stream must end, so that its client reads the list of conversations again. */
  isBroken = false;
  private wake = (): void => undefined;

  constructor(
    readonly caller: Principal,
    private readonly types: ReadonlySet<LiveType>,
  ) {}

  /** @param wake called when the stream has something to do */
  setWake(wake: () => void): void {
    this.wake = wake;
    if (this.isBroken || this.rows.size + this.sends.length > 0) wake();
  }

  wants(type: LiveType): boolean {
    return this.types.has(type) && !this.isBroken;
  }

  /** Adds a conversation. An older form of it that still waits is dropped. */
  addRow(id: string, frame: string): void {
    this.rows.set(id, frame);
    this.added();
  }

  addSend(frame: string): void {
    this.sends.push(frame);
    this.added();
  }

  break(): void {
    this.isBroken = true;
    this.wake();
  }

  /** Returns all that waits, as text to send. */
  take(): string {
    const text = [...this.sends, ...this.rows.values()].join('');
    this.sends = [];
    this.rows.clear();
    return text;
  }

  private added(): void {
    if (this.rows.size + this.sends.length > MAX_WAITING_FRAMES) this.break();
    else this.wake();
  }
}

/**
 * Reports changes of conversations and sends to event streams. Each changed row is read once for all streams of an
 * account, and at most four times a second.
 */
@Injectable()
export class LiveChanges {
  private readonly accounts = new Map<string, AccountChanges>();

  constructor(
    @Inject(CONVERSATION_CHANGES) private readonly changes: ConversationChanges,
    @Inject(CONVERSATIONS) private readonly conversations: Conversations,
    @Inject(ConversationReads) private readonly reads: ConversationReads,
    @Inject(ContactAccess) private readonly access: ContactAccess,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Puts the changes into a queue until `leave` is called, which must happen exactly once.
   * @returns `ready` resolves when no further change can be missed
   */
  follow(queue: LiveQueue): { ready: Promise<unknown>; leave: () => void } {
    const { account } = queue.caller;
    const shared = this.accounts.get(account) ?? new AccountChanges(account, this);
    this.accounts.set(account, shared);
    shared.queues.add(queue);
    if (shared.started === undefined) {
      shared.started = this.changes.follow(account, shared);
      shared.started.catch(() => {
        this.replace(shared);
      });
    }
    return {
      ready: shared.started,
      leave: () => {
        this.leave(shared, queue);
      },
    };
  }

  /** Puts a send's status into the queues of the callers who may see it. */
  async reportSend(queues: Iterable<LiveQueue>, notice: SendStatusNotice): Promise<void> {
    const { id, status, reference, revision } = notice;
    const frame = liveFrame('send.updated', JSON.stringify({ id, status, reference, revision }));
    for (const queue of queues) {
      if (!queue.wants('send.updated')) continue;
      if (await this.access.maySeeSend(queue.caller, notice)) queue.addSend(frame);
    }
  }

  /** Reads rows and puts them into the queues of the callers who may see them. */
  async reportRows(account: string, queues: Iterable<LiveQueue>, ids: readonly string[]): Promise<void> {
    const listening = [...queues].filter((queue) => queue.wants('conversation.updated'));
    if (listening.length === 0) return;
    for (let i = 0; i < ids.length; i += ROWS_A_READ) {
      const rows = await this.rowsOf(account, ids.slice(i, i + ROWS_A_READ));
      const texts = await this.reads.toJson(account, rows);
      for (const [n, row] of rows.entries()) {
        const frame = liveFrame('conversation.updated', texts[n] ?? '');
        for (const queue of listening) if (maySee(queue.caller, row)) queue.addRow(row.id, frame);
      }
    }
  }

  /** Returns rows by their ids. A phone number whose row has disappeared gets an empty row. */
  private async rowsOf(account: string, ids: readonly string[]): Promise<Conversation[]> {
    const rows = await this.conversations.read(account, ids);
    const found = new Set(rows.flatMap(({ id, phoneNumbers }) => [id, ...phoneNumbers]));
    const gone = ids.filter((id) => PHONE_NUMBER.test(id) && !found.has(id));
    if (gone.length === 0) return rows;
    const revision = await this.conversations.revision(account);
    return [...rows, ...gone.map((id) => emptyConversation(id, revision))];
  }

  /** Ends streams that may have missed changes. */
  fail(queues: Iterable<LiveQueue>, error: unknown): void {
    if (!isStoreFault(error))
      this.logger.error(
        { err: error },
        'could not report changes of conversations and sends to event streams; the streams end',
      );
    for (const queue of queues) queue.break();
  }

  /**
   * Removes an object that has missed changes, or that no stream uses any more. The next stream of the account then
   * gets a new object with a new subscription.
   */
  replace(shared: AccountChanges): void {
    if (this.accounts.get(shared.account) === shared) this.accounts.delete(shared.account);
  }

  private leave(shared: AccountChanges, queue: LiveQueue): void {
    shared.queues.delete(queue);
    if (shared.queues.size > 0) return;
    this.replace(shared);
    shared.started?.then(
      (stop) => {
        stop();
      },
      () => undefined,
    );
  }
}

function maySee({ contactIds }: Principal, { contactId = '' }: Conversation): boolean {
  return contactIds === undefined || contactIds.has(contactId);
}

/** The changes of one account, for all of its streams. */
class AccountChanges {
  readonly queues = new Set<LiveQueue>();
  /** Resolves to the function that ends the subscription. */
  started: Promise<() => void> | undefined;
  private changed = new Set<string>();
  private isReading = false;
  private readAt = -Infinity;

  constructor(
    readonly account: string,
    private readonly owner: LiveChanges,
  ) {}

  rowChanged(id: string): void {
    this.changed.add(id);
    if (this.changed.size > MAX_CHANGED_ROWS) {
      this.changed.clear();
      this.interrupted();
    } else if (!this.isReading) this.readSoon();
  }

  sendChanged(notice: SendStatusNotice): void {
    this.owner.reportSend(this.queues, notice).catch((error: unknown) => {
      this.owner.fail(this.queues, error);
    });
  }

  interrupted(): void {
    this.owner.replace(this);
    for (const queue of this.queues) queue.break();
  }

  private readSoon(): void {
    this.isReading = true;
    setTimeout(
      () => {
        void this.readChanged();
      },
      Math.max(this.readAt + ROW_INTERVAL_MS - performance.now(), 0),
    ).unref();
  }

  private async readChanged(): Promise<void> {
    const ids = [...this.changed];
    this.changed = new Set();
    this.readAt = performance.now();
    try {
      await this.owner.reportRows(this.account, this.queues, ids);
    } catch (error) {
      this.owner.fail(this.queues, error);
    }
    this.isReading = false;
    if (this.changed.size > 0 && this.queues.size > 0) this.readSoon();
  }
}
