import { type Clock, newId } from '#platform';
import type { RelayJobs } from './ports.js';
import type { RelayStore } from './relay-store.js';
import {
  type Acceptance,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  type SendIntake,
  SendNotCancellableError,
} from './send-intake.js';
import { passage } from './send-life.js';
import { type SendOrder, settled, toSend } from './send-record.js';
import type { NewSend, Send } from './send.js';

const MOST_RACES = 10;

/** {@link SendIntake} that stores first and answers then. */
export class StoredSendIntake implements SendIntake {
  constructor(
    private readonly store: RelayStore,
    private readonly jobs: RelayJobs,
    private readonly clock: Clock,
  ) {}

  async accept(account: string, request: NewSend, idempotency?: IdempotencyKey): Promise<Acceptance> {
    const now = this.clock.now();
    const { sendAt, ...rest } = request;
    const order: SendOrder = {
      ...rest,
      // A time that has come is no reason to wait.
      ...(sendAt === undefined || sendAt <= now ? {} : { sendAt }),
      id: newId('snd'),
      createdAt: now,
    };
    const stored = await this.store.insert(account, order, idempotency);
    if (stored.kind === 'reused') throw new IdempotencyKeyReusedError();
    if (stored.kind === 'replay') return { id: stored.id, replayed: true };
    if (order.sendAt === undefined) await this.jobs.wake(account, order.phoneNumber);
    return { id: order.id, replayed: false };
  }

  async find(account: string, id: string): Promise<Send | undefined> {
    const record = await this.store.find(account, id);
    return record === undefined ? undefined : toSend(record);
  }

  async cancel(account: string, id: string): Promise<Send | undefined> {
    for (let race = 0; race < MOST_RACES; race += 1) {
      const record = await this.store.find(account, id);
      if (record === undefined) return undefined;
      const { status } = record.state;
      if (passage(status, 'cancelled') === undefined) throw new SendNotCancellableError(status);
      const cancelled = await this.store.transit(account, record, {
        happening: 'cancelled',
        state: settled(record.state),
      });
      if (cancelled !== undefined) return toSend(cancelled);
    }
    throw new Error(`${id} keeps changing while it is cancelled`);
  }
}
