import { newId } from '#platform';
import { sendIdOfUploadedFile } from './file-owner.js';
import type { IdempotencyKeys, IdempotencyKeyUse } from './idempotency-keys.js';
import type { RelayJobs } from '../ports.js';
import { SCHEDULED_SENDS_CHECK_INTERVAL_MS } from './relay-settings.js';
import type { NewSendOrder, RelayStore, StateChange } from './relay-store.js';
import {
  type Acceptance,
  IdempotentRequestInProgressError,
  type IdempotencyKey,
  IdempotencyKeyReusedError,
  IDEMPOTENCY_KEY_RESERVATION_MS,
  type ResolveOutcome,
  type SendService,
  type SendOrigin,
  type SendQuota,
  SendQuotaExceededError,
  SendNotCancellableError,
  SendNotResolvableError,
} from './send-service.js';
import { findTransitionResult } from './send-transitions.js';
import { type SendRecord, fieldsKeptAcrossTransitions, toPublicSendWithLookups } from './send-record.js';
import type { NewSend, Send } from './send.js';

/** Maximum number of times that other processes may change a send during one update. After that, the update fails. */
const MAX_CONFLICTS = 10;
/**
 * Time in milliseconds. If a scheduled send is due within this time after it is stored, a worker is woken at once.
 * The time is the interval between two checks for scheduled sends, plus a margin for clock differences between
 * machines.
 */
const ANNOUNCE_WITHIN_MS = SCHEDULED_SENDS_CHECK_INTERVAL_MS + 1_000;

/** Implements {@link SendService}. Answers a caller only after the send is stored. */
export class StoreBackedSendService implements SendService {
  constructor(
    private readonly store: RelayStore,
    private readonly idempotencyKeys: IdempotencyKeys,
    private readonly jobs: RelayJobs,
    /** Returns a hash of the account's upstream address, or undefined if the account has no address. */
    private readonly addressOf: (account: string) => Promise<string | undefined>,
  ) {}

  async accept(
    account: string,
    request: NewSend,
    idempotency?: IdempotencyKey,
    origin: SendOrigin = {},
    quota?: SendQuota,
  ): Promise<Acceptance> {
    const { sendAt: wanted, ...rest } = request;
    // Use Redis' clock, because the POST and the look-ups use the same clock. The clocks of gateways may differ.
    const now = wanted === undefined ? undefined : await this.store.now(account);
    const sendAt = wanted === undefined || now === undefined || wanted <= now ? undefined : wanted;
    const upstream = await this.addressOf(account);
    const order: NewSendOrder = {
      ...rest,
      ...(sendAt === undefined ? {} : { sendAt }),
      id: (rest.file === undefined ? undefined : sendIdOfUploadedFile(rest.file.blobId)) ?? newId('snd'),
      ...(upstream === undefined ? {} : { upstream }),
      ...origin,
    };
    const stored = await this.store.insert(account, order, idempotency, quota);
    if (stored.kind === 'quotaExceeded') throw new SendQuotaExceededError(quota?.maxUnfinished ?? 0);
    if (stored.kind !== 'new') return replayOf(stored);
    if (sendAt === undefined || now === undefined || sendAt < now + ANNOUNCE_WITHIN_MS)
      await this.jobs.wake(account, [order.phoneNumber]);
    return { id: order.id, replayed: false };
  }

  async reserve(account: string, key: string, owner: string): Promise<void> {
    const reserved = await this.idempotencyKeys.reserve(account, key, owner, IDEMPOTENCY_KEY_RESERVATION_MS);
    if (!reserved) throw new IdempotentRequestInProgressError();
  }

  async release(account: string, key: string, owner: string): Promise<void> {
    await this.idempotencyKeys.release(account, key, owner);
  }

  async recall(account: string, idempotency: IdempotencyKey): Promise<Acceptance | undefined> {
    const earlier = await this.idempotencyKeys.recall(account, idempotency);
    return earlier === undefined ? undefined : replayOf(earlier);
  }

  async find(account: string, id: string): Promise<Send | undefined> {
    const record = await this.store.find(account, id);
    return record === undefined ? undefined : toPublicSendWithLookups(record);
  }

  async cancel(account: string, id: string): Promise<Send | undefined> {
    const record = await this.change(account, id, ({ state }) => {
      if (findTransitionResult(state.status, 'cancelled') === undefined)
        throw new SendNotCancellableError(state.status);
      return { transition: 'cancelled', state: fieldsKeptAcrossTransitions(state) };
    });
    return record === undefined ? undefined : toPublicSendWithLookups(record);
  }

  async resolve(account: string, id: string, outcome: ResolveOutcome): Promise<Send | undefined> {
    const now = await this.store.now(account);
    const address = await this.addressOf(account);
    const record = await this.change(account, id, (current) => resolution(current, outcome, now, address));
    if (record === undefined) return undefined;
    if (outcome === 'resend') await this.jobs.wake(account, [record.order.phoneNumber]);
    return toPublicSendWithLookups(record);
  }

  /**
   * Applies the change that `decide` returns for the stored send. Starts again if another process changed the send
   * meanwhile. Returns undefined if the send does not exist.
   * @throws {Error} after {@link MAX_CONFLICTS} changes by other processes
   */
  private async change(
    account: string,
    id: string,
    decide: (record: SendRecord) => StateChange,
  ): Promise<SendRecord | undefined> {
    for (let conflict = 0; conflict < MAX_CONFLICTS; conflict += 1) {
      const record = await this.store.find(account, id);
      if (record === undefined) return undefined;
      const changed = await this.store.apply(account, record, decide(record));
      if (changed !== undefined) return changed;
    }
    throw new Error(`${id} changed ${MAX_CONFLICTS} times during one update`);
  }
}

/**
 * Returns the send of the earlier request with the same idempotency key.
 * @throws {IdempotencyKeyReusedError | IdempotentRequestInProgressError}
 */
function replayOf(earlier: IdempotencyKeyUse): Acceptance {
  switch (earlier.kind) {
    case 'replay':
      return { id: earlier.id, replayed: true };
    case 'reused':
      throw new IdempotencyKeyReusedError();
    case 'busy':
      throw new IdempotentRequestInProgressError();
  }
}

function resolution(
  { order, state }: SendRecord,
  outcome: ResolveOutcome,
  now: number,
  address: string | undefined,
): StateChange {
  const transition = `resolved_${outcome}` as const;
  if (findTransitionResult(state.status, transition) === undefined) {
    const allowed =
      outcome === 'resend' ? 'a send with the status unknown or failed' : 'a send with the status unknown';
    throw new SendNotResolvableError(
      `The send is ${state.status}; only ${allowed} can be resolved as ${outcome}.`,
    );
  }
  const rest = fieldsKeptAcrossTransitions(state);
  if (outcome === 'sent') return { transition, state: rest };
  if (outcome === 'failed')
    return { transition, state: { ...rest, reason: 'The send was resolved as failed.' } };
  if (order.expiresAt !== undefined && order.expiresAt <= now) {
    throw new SendNotResolvableError('The expiresAt of the send has passed, so the send cannot be resent.');
  }
  if (state.messageId !== undefined) {
    throw new SendNotResolvableError(
      'The send was found among the messages of its recipient, so it needs no resend.',
    );
  }
  const resentTo = address === undefined ? {} : { resentTo: address };
  return { transition, state: { ...rest, refusals: 0, resentAt: now, ...resentTo, lookFirst: true } };
}
