import type { Simulator } from '../../apps/simulator/src/create-simulator.js';
import { RedisConversations } from '#conversations';
import { DeadlineError, type RedisClient, withDeadline } from '#platform';
import type { HttpUpstream, UpstreamAddress } from '#upstream';
import type { Action, History, OldContact, ReadStep, Step, WorldSetup } from './history.js';
import { Oracle } from './oracle.js';
import { ACCOUNT, type HistoryContext, FeedWorker, SWEEP_MS, SETTLE_MS } from './feed-worker.js';
import { RowOracle } from './row-oracle.js';
import { HistoryRelayStore, SendDesk } from './send-desk.js';
import { Turnstile } from './turnstile.js';
import { freshPrefix, type UpstreamWitness } from './upstream-witness.js';

/** Start time of every history: a full second, far from the real time. */
const BEGINNING = Date.UTC(2031, 0, 1);
const MAX_CONTACTS = 3;
const MAX_SENDS = 10;
/** Maximum number of messages and pages per contact. Histories should have many reads, not long ones. */
const MAX_MESSAGES = 90;
const MAX_PAGES = 10;
const LAST_READS = 4;
/**
 * A history hangs if nothing happens in it for this time, in milliseconds. Normally a whole history takes less than a
 * second, but on a busy machine it may take minutes.
 */
const DEADLINE_MS = 60_000;
/** A history that takes longer than {@link DEADLINE_MS} may have this number of lines in its log. */
const MAX_LINES = 100_000;

/** Objects that all histories of one lane share. A lane runs one history at a time. */
export interface Lane {
  redis: RedisClient;
  simulator: Simulator;
  witness: UpstreamWitness;
  upstream: HttpUpstream;
  address: UpstreamAddress;
}

/**
 * Plays a history. @throws {Verdict} if the emitted events are wrong; its message ends with a log of the
 * history
 */
export async function runHistory(lane: Lane, history: History): Promise<void> {
  const run = new Run(lane, history.setup);
  try {
    await endOf(run.all(history.steps), run.trace);
  } catch (error) {
    if (error instanceof Error) error.message += `\nWhat happened:\n  ${run.trace.join('\n  ')}`;
    throw error;
  } finally {
    await lane.redis.flushdb();
  }
}

/** Waits until a history has ended. @throws {DeadlineError} if it hangs or does not end */
async function endOf(history: Promise<void>, trace: readonly string[]): Promise<void> {
  for (;;) {
    const lines = trace.length;
    try {
      await withDeadline(history, DEADLINE_MS, 'a step of a history');
      return;
    } catch (error) {
      if (!(error instanceof DeadlineError) || trace.length === lines || lines > MAX_LINES) throw error;
    }
  }
}

/** Returns true if a step may change rows. A change upstream changes none before it is read. */
function changesRows({ do: what }: Step): boolean {
  return ['read', 'send', 'moveSend', 'markSeen'].includes(what);
}

/** Returns the phone number of a contact. */
function numberOf(contact: number): string {
  return `+1555123456${contact}`;
}

/** Returns one of a few texts. One is longer than a preview. */
function textOf(text: number): string {
  return text === 3 ? '\u{1F600}'.repeat(270) + 'x'.repeat(30) : `Text ${text}`;
}

class Run {
  readonly trace: string[] = [];
  private readonly context: HistoryContext;
  private now = BEGINNING;
  private worker: FeedWorker;
  private contactIds: string[] = [];
  private readonly conversations: RedisConversations;
  private checks = 0;

  constructor(
    private readonly lane: Lane,
    private readonly setup: WorldSetup,
  ) {
    const [prefix, now] = [freshPrefix(), (): number => this.now];
    this.context = {
      ...lane,
      prefix,
      undated: setup.undated,
      oracle: new Oracle({ undated: setup.undated, sweepMs: SWEEP_MS, settleMs: SETTLE_MS }),
      rows: new RowOracle(),
      desk: new SendDesk(new HistoryRelayStore(lane.redis, prefix, now), ACCOUNT, now),
      now,
      note: (line) => this.trace.push(line),
    };
    this.worker = new FeedWorker(this.context);
    this.conversations = new RedisConversations(lane.redis, prefix);
  }

  async all(steps: History['steps']): Promise<void> {
    this.begin();
    for (const step of steps) {
      if (step.do === 'read') await this.read(step);
      else await this.act(step);
      if (changesRows(step)) await this.checkRows();
    }
    await this.end();
  }

  private begin(): void {
    const { seed, order, sortBy, limitCap, limitIgnored, missingPageStatus, insertWhilePaging } = this.setup;
    const { wire, contacts } = this.setup;
    const settings = {
      ...{ order, sortBy, limitCap, limitIgnored, missingPageStatus, insertWhilePaging },
      ...wire,
      clock: 'manual',
    };
    this.control('reset', { seed, now: BEGINNING, settings });
    for (const old of contacts) this.newContact(old);
  }

  /** Ends all disturbances and reads everything several times. */
  private async end(): Promise<void> {
    this.control('faults/clear');
    this.control('settings', { outage: false, insertWhilePaging: 0 });
    if (this.lane.simulator.core.settings.order === 'random')
      this.control('settings', { order: this.setup.lastOrder });
    this.note('the end');
    for (let reads = 0; reads < LAST_READS; reads += 1) {
      await this.act({ do: 'clock', seconds: SWEEP_MS / 1_000 });
      await this.read({ do: 'read', tasks: [{ read: 'list', contact: 0 }], turns: [0], meanwhile: [] });
      for (const contact of this.contactIds.keys())
        await this.read({ do: 'read', tasks: [{ read: 'contact', contact }], turns: [0], meanwhile: [] });
    }
    for (const id of this.contactIds) {
      if (this.lane.simulator.core.world.contacts.findListed(id) !== undefined)
        this.context.oracle.finish(id, this.lane.witness.messages(id));
      this.context.rows.finish(id);
    }
    await this.checkRows();
  }

  /** Compares all rows with the oracle's. @throws {Verdict} */
  private async checkRows(): Promise<void> {
    const { rows, desk } = this.context;
    for (const send of await desk.changed()) rows.send(send);
    this.checks += 1;
    const number = numberOf(this.checks % (MAX_CONTACTS + 1));
    const [{ conversations }, [row]] = await Promise.all([
      this.conversations.list(ACCOUNT, 100),
      this.conversations.read(ACCOUNT, [number]),
    ]);
    rows.check(conversations, number, row);
  }

  private async read({ tasks, turns, meanwhile }: ReadStep): Promise<void> {
    const turnstile = tasks.length > 1 ? new Turnstile(tasks.length, turns) : undefined;
    let operations = 0;
    const workers = tasks.map((_, n) => (n === 0 ? this.worker : new FeedWorker(this.context, 'b')));
    await Promise.all(
      tasks.map(async (task, n) => {
        const worker = workers[n] ?? this.worker;
        await worker.run(task, this.contactIds[task.contact % this.contactIds.length] ?? '', async () => {
          await turnstile?.turn(n);
          operations += 1;
          this.boundShifting();
          for (const { operation, action } of meanwhile) if (operation === operations) await this.act(action);
        });
        turnstile?.done(n);
      }),
    );
    if (this.worker.dead) this.worker = new FeedWorker(this.context);
    await this.worker.assertNoStrayEvents();
  }

  /** Stops insertions during reads when a contact gets too long, because each read adds messages. */
  private boundShifting(): void {
    const { core } = this.lane.simulator;
    if (core.settings.insertWhilePaging === 0) return;
    if (this.contactIds.some((id) => this.messagesOf(id).length >= this.maxMessages))
      this.control('settings', { insertWhilePaging: 0 });
  }

  private async act(action: Action): Promise<void> {
    this.note(JSON.stringify(action));
    switch (action.do) {
      case 'insert': {
        const { count, direction, gapMs, ageMs, delivered, read, numberOf: other } = action;
        const contactId = this.contactId(action.contact);
        const room = this.maxMessages - this.messagesOf(contactId).length;
        if (room <= 0) return;
        const many = Math.min(count, room);
        const timestamp = this.now - ageMs - (many - 1) * gapMs;
        this.control('messages', {
          ...{ contactId, count: many, direction, timestamp, intervalMs: gapMs, delivered, read },
          ...(other === undefined
            ? {}
            : { fields: { [direction === 'inbound' ? 'from' : 'to']: numberOf(other) } }),
        });
        return;
      }
      case 'flags': {
        const { delivered, read } = action;
        const id = this.messageId(action.contact, action.message);
        if (id === undefined || (delivered === undefined && read === undefined)) return;
        this.control('messages/flags', {
          ...{ id },
          ...(delivered === undefined ? {} : { delivered }),
          ...(read === undefined ? {} : { read }),
        });
        return;
      }
      case 'edit':
        this.withMessage(action, (id) => this.control('messages/edit', { id, message: textOf(action.text) }));
        return;
      case 'attach':
        this.withMessage(action, (id) =>
          this.control('messages/edit', { id, attachments: [{ url: 'https://files.example/a.png' }] }),
        );
        return;
      case 'delete': {
        const ids = this.messagesOf(this.contactId(action.contact));
        const from = ids.length === 0 ? 0 : ids.length - 1 - (action.message % ids.length);
        const chosen = ids.slice(Math.max(from - action.count + 1, 0), from + 1);
        if (chosen.length > 0) this.control('messages/delete', { ids: chosen });
        return;
      }
      case 'restore': {
        const contactId = this.contactId(action.contact);
        const deleted = [...this.lane.simulator.core.world.messages.all()]
          .filter(({ state, contact }) => state === 'deleted' && contact.id === contactId)
          .map(({ id }) => id);
        const from = deleted.length === 0 ? 0 : action.message % deleted.length;
        const chosen = deleted.slice(from, from + action.count);
        if (chosen.length > 0) this.control('messages/restore', { ids: chosen });
        return;
      }
      case 'deleteContact':
        this.control('contacts/delete', { contactId: this.contactId(action.contact) });
        return;
      case 'restoreContact':
        this.control('contacts/restore', { contactId: this.contactId(action.contact) });
        return;
      case 'renameContact':
        this.control('contacts/edit', {
          contactId: this.contactId(action.contact),
          name: `Name ${action.name}`,
        });
        return;
      case 'newContact':
        if (this.contactIds.length < MAX_CONTACTS) this.newContact(action.old);
        return;
      case 'send': {
        if (this.context.desk.count === MAX_SENDS) return;
        const { contact, text, scheduled } = action;
        const { desk, rows } = this.context;
        rows.send(await desk.accept(numberOf(contact), textOf(text), scheduled));
        return;
      }
      case 'moveSend': {
        const moved = await this.context.desk.move(this.sendNumber(action.send), action.transition);
        if (moved === undefined) return;
        this.note(`${moved.send.id} ${moved.transition}`);
        this.context.rows.send(moved.send);
        return;
      }
      case 'showSend':
        await this.showSend(action);
        return;
      case 'markSeen':
        await this.markSeen(action);
        return;
      case 'outage':
        this.control('settings', { outage: action.of });
        return;
      case 'order':
        this.control('settings', { order: action.order });
        return;
      case 'clock':
        this.now += action.seconds * 1_000;
        this.control('advance', { ms: action.seconds * 1_000 });
        return;
    }
  }

  private async showSend({ send, ageMs }: { send: number; ageMs: number }): Promise<void> {
    const shown = await this.context.desk.byNumber(this.sendNumber(send));
    const contactId = this.contactIds.find((_, n) => numberOf(n) === shown?.phoneNumber);
    if (shown === undefined || contactId === undefined) return;
    if (this.messagesOf(contactId).length >= this.maxMessages) return;
    const message = { direction: 'outbound', text: shown.message, timestamp: this.now - ageMs };
    this.control('messages', { contactId, ...message });
  }

  private async markSeen({
    contact,
    message,
    upTo,
  }: {
    contact: number;
    message: number;
    upTo: boolean;
  }): Promise<void> {
    const contactId = this.contactId(contact);
    const id = this.messageId(contact, message);
    if (id === undefined) return;
    if (!upTo) {
      await this.conversations.markEachSeen(ACCOUNT, contactId, [id]);
      this.note(`${id} alone marked as seen`);
      this.context.rows.markedAloneSeen(contactId, id);
      return;
    }
    const done = await this.conversations.markSeen(ACCOUNT, contactId, id);
    this.note(`messages up to ${id} marked as seen: ${done}`);
    this.context.rows.markedSeen(contactId, id, done);
  }

  /** Returns the number of a send. -1 is the last one. */
  private sendNumber(send: number): number {
    const { count } = this.context.desk;
    return send < 0 ? Math.max(count - 1, 0) : send;
  }

  private newContact({ pages, gapMs, ageMs }: OldContact): void {
    const phoneNumber = numberOf(this.contactIds.length);
    const { contacts } = this.control('contacts', { phoneNumber }) as { contacts: { id: string }[] };
    const contactId = contacts[0]?.id ?? '';
    this.contactIds.push(contactId);
    const count = Math.round(pages * this.pageSize);
    if (count === 0) return;
    const timestamp = this.now - ageMs - (count - 1) * gapMs;
    const inbound = Math.ceil(count / 2);
    this.control('messages', { contactId, count: inbound, timestamp, intervalMs: gapMs });
    if (count === inbound) return;
    this.control('messages', {
      ...{ contactId, count: count - inbound, intervalMs: gapMs, direction: 'outbound' },
      timestamp: timestamp + inbound * gapMs,
    });
  }

  private withMessage(at: { contact: number; message: number }, act: (id: string) => unknown): void {
    const id = this.messageId(at.contact, at.message);
    if (id !== undefined) act(id);
  }

  private contactId(number: number): string {
    return this.contactIds[number % this.contactIds.length] ?? '';
  }

  private get pageSize(): number {
    const { limitCap, limitIgnored } = this.setup;
    return limitIgnored ? 20 : Math.min(limitCap ?? 20, 20);
  }

  private get maxMessages(): number {
    return Math.min(MAX_MESSAGES, MAX_PAGES * this.pageSize);
  }

  /** Returns the id of a listed message, counted from the newest. */
  private messageId(contact: number, message: number): string | undefined {
    const ids = this.messagesOf(this.contactId(contact));
    return ids[ids.length - 1 - (message % Math.max(ids.length, 1))];
  }

  private messagesOf(contactId: string): string[] {
    const contact = this.lane.simulator.core.world.contacts.find(contactId);
    return (contact?.messages ?? []).map(({ id }) => id);
  }

  private control(verb: string, body: unknown = {}): object {
    return this.lane.simulator.control(verb, body);
  }

  private note(line: string): void {
    this.context.note(line);
  }
}
