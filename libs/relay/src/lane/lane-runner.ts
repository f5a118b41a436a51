import { type Logger, TimeLimit } from '#platform';
import {
  BudgetExhaustedError,
  UpstreamError,
  UpstreamReplyError,
  UpstreamStatusError,
  UpstreamUnreachableError,
} from '#upstream';
import type { BlobStore } from '#blobs';
import { intendedAddress, otherServiceReason } from './destination.js';
import { type LaneStep, nextStep } from './lane-step.js';
import type { Lookup, RelayJobs, Sender } from '../ports.js';
import type { RelaySettings } from '../send/relay-settings.js';
import type { LaneHead, RelayStore } from '../send/relay-store.js';
import { SendPost } from './send-post.js';
import { expiryChange } from '../send/send-end.js';
import { isAwaitingMessage, lastingFields } from '../send/send-record.js';
import { SendSearch } from './send-search.js';

/** A lane hands its worker's place on after so many sends, so that a long lane does not keep others waiting. */
const MAX_SENDS_PER_RUN = 50;
/** Hints hold a recipient's number, and outlive a removed account: none waits for longer. In milliseconds. */
const MAX_HINT_DELAY_MS = 60_000;
/** A contact list that proves where an account's address leads is asked for so often at most. In milliseconds. */
const VERIFY_INTERVAL_MS = 5_000;
/** These say something of the key, or of the moment, and nothing of the address. */
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/** Why no list proves an address: somebody is there who has none, or it cannot be read just now. */
type ListFailure = 'no list' | 'failed';

/** Relays the sends of one recipient, one at a time, in the order of their acceptance. */
export class LaneRunner {
  private readonly search: SendSearch;
  private readonly post: SendPost;
  /** Since when the life of Redis lasts that was last told of, by account. */
  private readonly loggedRestarts = new Map<string, number>();
  /** What came of the last list that was to prove an address and could not be read, and until when that counts. */
  private readonly failedChecks = new Map<string, { result: ListFailure; until: TimeLimit }>();
  private stopping = false;

  constructor(
    private readonly store: RelayStore,
    private readonly sender: Sender,
    private readonly lookup: Lookup,
    blobs: BlobStore,
    private readonly jobs: RelayJobs,
    private readonly settings: RelaySettings,
    private readonly logger: Logger,
    random: () => number = Math.random,
  ) {
    this.search = new SendSearch(store, lookup, settings);
    this.post = new SendPost(store, sender, lookup, blobs, this.search, settings, logger, random);
  }

  /** From now on a run ends with the send that it is at; what is left is due and found by others. */
  stop(): void {
    this.stopping = true;
  }

  /** The account is no more. */
  forget(account: string): void {
    this.loggedRestarts.delete(account);
    this.failedChecks.delete(account);
  }

  /**
   * Does what is due in a lane. Two runners in one lane do no harm: each step is fenced.
   * @returns false if there was nothing in it
   */
  async run(account: string, lane: string): Promise<boolean> {
    for (let sends = 0; sends < MAX_SENDS_PER_RUN && !this.stopping; sends += 1) {
      const head = await this.store.head(account, lane);
      if (head === undefined) return sends > 0;
      this.logRedisRestart(account, head);
      const waitMs = await this.step(account, head);
      if (waitMs > 0 && (await this.store.postpone(account, head.record, waitMs))) {
        await this.jobs.wake(account, [lane], Math.min(waitMs, MAX_HINT_DELAY_MS));
        return true;
      }
    }
    await this.jobs.wake(account, [lane]);
    return true;
  }

  /** Once a process and life: each send that is looked for because of it has a line of its own. */
  private logRedisRestart(account: string, { redisRestartedAt, noticedRestartAt }: LaneHead): void {
    const since = noticedRestartAt ?? redisRestartedAt;
    if (since === undefined || this.loggedRestarts.get(account) === since) return;
    this.loggedRestarts.set(account, since);
    this.logger.warn(
      { account, since: new Date(since).toISOString() },
      'Redis lives another life (restart, failover or restored backup) and may have lost its last seconds; unfinished sends are looked for before they are posted',
    );
  }

  /** How long the lane has nothing to do after this step, in milliseconds. */
  private async step(account: string, head: LaneHead): Promise<number> {
    const address = await this.sender.addressOf(account);
    return this.take(account, head, nextStep(head, this.settings.maxAgeMs, address), address);
  }

  /** Sees first where the address leads; where that cannot be seen, what may be done all the same. */
  private async verifyAddressFirst(
    account: string,
    head: LaneHead,
    address: string | undefined,
  ): Promise<number> {
    const proof = await this.verifyAddress(account);
    if (proof === 'read') return 0;
    // Where nobody is there, a POST reaches nobody, and where a list merely fails, what is meant for this address may go.
    const isMeant = intendedAddress(head.record, address) === address;
    if (proof !== 'away' && !(proof === 'failed' && isMeant)) return VERIFY_INTERVAL_MS;
    return this.take(account, head, nextStep(head, this.settings.maxAgeMs, undefined), address);
  }

  private async take(
    account: string,
    head: LaneHead,
    step: LaneStep,
    address: string | undefined,
  ): Promise<number> {
    const { record, now } = head;
    switch (step.kind) {
      case 'wait':
        return step.ms;
      case 'leave':
        await this.store.clear(account, record);
        return 0;
      case 'expire':
        await this.store.apply(account, record, expiryChange(record, step.reason));
        return 0;
      case 'post':
        return this.post.post(account, head, address);
      case 'prove':
        return this.verifyAddressFirst(account, head, address);
      case 'misplaced':
        await this.store.apply(account, record, {
          transition: 'marked_unknown',
          state: {
            ...lastingFields(record.state),
            reason: otherServiceReason(isAwaitingMessage(record.state)),
          },
        });
        return 0;
      case 'doubt':
        this.logger.warn(
          { account, sendId: record.order.id },
          'it may have been posted already; looking before it is',
        );
        await this.store.apply(account, record, this.search.doubt(head));
        return 0;
      case 'recover':
        this.logger.warn(
          { account, sendId: record.order.id },
          'a POST was left by its process; looking for it',
        );
        await this.store.apply(
          account,
          record,
          this.search.begin('abandoned', record, now, 'The process that was relaying it ended.'),
        );
        return 0;
      case 'look':
        return this.search.look(account, head);
    }
  }

  /** Has the contact list read, which shows whether the address leads to a service, and to which. */
  private async verifyAddress(account: string): Promise<'read' | 'away' | ListFailure> {
    const last = this.failedChecks.get(account);
    if (last !== undefined && !last.until.isOver()) return last.result;
    let result: ListFailure = 'failed';
    try {
      await this.lookup.readList(account);
      return 'read';
    } catch (error) {
      if (!(error instanceof UpstreamError || error instanceof BudgetExhaustedError)) throw error;
      // Not remembered: a moment later somebody may be there.
      if (error instanceof UpstreamUnreachableError) return 'away';
      if (lacksContactList(error)) result = 'no list';
    }
    this.failedChecks.set(account, { result, until: new TimeLimit(VERIFY_INTERVAL_MS) });
    return result;
  }
}

/** Whether somebody answered who has no contact list, as where an address lacks its path. */
function lacksContactList(error: Error): boolean {
  if (error instanceof UpstreamReplyError) return true;
  if (!(error instanceof UpstreamStatusError)) return false;
  return error.status >= 300 && error.status < 500 && !ACCOUNT_STATUSES.has(error.status);
}
