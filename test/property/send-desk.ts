import { clockOfThisMachine, type RedisClient } from '#platform';
import { RedisRelayStore } from '#relay';
import {
  fieldsKeptAcrossTransitions,
  type SendOrder,
  toPublicSend,
} from '../../libs/relay/src/send/send-record.js';
import { type TransitionName, findTransitionResult } from '../../libs/relay/src/send/send-transitions.js';
import type { ShownSend } from './row-model.js';

/** Transitions of sends that histories make. Polls make the others, when they find messages. */
export const TRANSITIONS = [
  'fenced',
  'accepted',
  'promoted',
  'requeued',
  'refused',
  'ambiguous',
  'marked_unknown',
  'unconfirmed',
  'cancelled',
  'expired',
  'resolved_resend',
  'resolved_sent',
  'resolved_failed',
] as const satisfies readonly TransitionName[];

/** A store of sends whose clock shows the time of a history. */
export class HistoryRelayStore extends RedisRelayStore {
  constructor(
    redis: RedisClient,
    prefix: string,
    private readonly time: () => number,
    private readonly onTransition: (sendId: string) => void = () => undefined,
  ) {
    super(redis, prefix, clockOfThisMachine);
  }

  override async apply(
    ...change: Parameters<RedisRelayStore['apply']>
  ): ReturnType<RedisRelayStore['apply']> {
    try {
      return await super.apply(...change);
    } finally {
      // Not before: while the change waits for its turn, another worker reads the sends.
      this.onTransition(change[1].order.id);
    }
  }

  override now(): Promise<number> {
    return Promise.resolve(this.time());
  }
}

/** Accepts the sends of a history, and moves them through transitions. */
export class SendDesk {
  private readonly ids: string[] = [];
  /** True if sends may have changed since they were read last. */
  private isChanged = false;

  constructor(
    private readonly store: RedisRelayStore,
    private readonly account: string,
    private readonly now: () => number,
  ) {}

  get count(): number {
    return this.ids.length;
  }

  async accept(phoneNumber: string, message: string, isScheduled: boolean): Promise<ShownSend> {
    const number = this.ids.length + 1;
    // Ids of sends sort before and after those of messages.
    const id = `${number % 2 === 0 ? 'snd' : 'con'}_${String(number).padStart(4, '0')}`;
    const createdAt = this.now();
    const order: SendOrder = {
      ...{ id, type: 'text', phoneNumber, message, createdAt },
      ...(isScheduled ? { sendAt: createdAt + 60_000 } : {}),
    };
    await this.store.insert(this.account, order);
    this.ids.push(id);
    return this.find(id);
  }

  /**
   * Moves a send by one of the transitions that its status allows.
   * @param send number of the send, modulo their count
   * @param transition number of the transition, modulo the count of the allowed ones
   */
  async move(send: number, transition: number): Promise<{ send: ShownSend; transition: string } | undefined> {
    const record = await this.store.find(this.account, this.ids[send % this.ids.length] ?? '');
    if (record === undefined) return undefined;
    const { status } = record.state;
    const allowed = TRANSITIONS.filter((one) => findTransitionResult(status, one) !== undefined);
    const name = allowed[transition % Math.max(allowed.length, 1)];
    if (name === undefined) return undefined;
    await this.store.apply(this.account, record, {
      transition: name,
      state: {
        ...fieldsKeptAcrossTransitions(record.state),
        ...(name === 'fenced' ? { begunAt: this.now(), phase: 'posting' } : {}),
        ...(name === 'ambiguous' ? { phase: 'looking' } : {}),
      },
    });
    return { send: await this.find(record.order.id), transition: name };
  }

  /** Must be called after a poll may have changed a send. */
  noteChange(): void {
    this.isChanged = true;
  }

  /** Returns the sends as the API shows them, unless none has changed since the last call. */
  async changed(): Promise<ShownSend[]> {
    if (!this.isChanged) return [];
    this.isChanged = false;
    return Promise.all(this.ids.map((id) => this.find(id)));
  }

  /** Returns a send by its number, modulo their count. */
  async byNumber(send: number): Promise<ShownSend | undefined> {
    const id = this.ids[send % this.ids.length];
    return id === undefined ? undefined : this.find(id);
  }

  private async find(id: string): Promise<ShownSend> {
    const record = await this.store.find(this.account, id);
    if (record === undefined) throw new Error(`the send ${id} is lost`);
    const send = toPublicSend(record);
    return { ...send, createdAt: Date.parse(send.createdAt) };
  }
}
