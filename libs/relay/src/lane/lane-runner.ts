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
import { expiryChange } from '../send/send-expiry.js';
import { isAwaitingMessage, lastingFields } from '../send/send-record.js';
import { SendSearch } from './send-search.js';

/** Maximum number of steps in one run of a lane, so that a long lane does not block its worker. */
const MAX_STEPS_PER_RUN = 50;
/**
 * Maximum delay of a hint (the job that wakes a worker), in milliseconds. It is short, because a hint contains a phone
 * number and is not deleted together with its account.
 */
const MAX_HINT_DELAY_MS = 60_000;
/** Minimum time between two reads of the contact list that verify an address, in milliseconds. */
const VERIFY_INTERVAL_MS = 5_000;
/** Statuses that concern the API key or the moment, and say nothing about the address. */
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/** Why a contact list did not verify an address: the server has no contact list, or the list could not be read. */
type ListFailure = 'no_list' | 'failed';

/** Relays the sends of one recipient, one at a time, in the order of their acceptance. */
export class LaneRunner {
  private readonly search: SendSearch;
  private readonly post: SendPost;
  /** Time of the Redis restart that was last logged, by account, in milliseconds since 1970. */
  private readonly loggedRestarts = new Map<string, number>();
  /** Result of the last failed read of the contact list, by account, and how long this result is reused. */
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

  /** Makes each run end after its current step. Other workers find the rest of the lane, because the lane stays due. */
  stop(): void {
    this.stopping = true;
  }

  /** Forgets the state of a removed account. */
  forget(account: string): void {
    this.loggedRestarts.delete(account);
    this.failedChecks.delete(account);
  }

  /**
   * Runs the steps that are due in a lane. Each step is fenced, so two runners in one lane do no harm.
   * @returns false if the lane was empty
   */
  async run(account: string, lane: string): Promise<boolean> {
    for (let steps = 0; steps < MAX_STEPS_PER_RUN && !this.stopping; steps += 1) {
      const head = await this.store.laneHead(account, lane);
      if (head === undefined) return steps > 0;
      this.logRedisRestart(account, head);
      const waitMs = await this.runStep(account, head);
      if (waitMs > 0 && (await this.store.postponeLane(account, head.record, waitMs))) {
        await this.jobs.wake(account, [lane], Math.min(waitMs, MAX_HINT_DELAY_MS));
        return true;
      }
    }
    await this.jobs.wake(account, [lane]);
    return true;
  }

  /** Logs a Redis restart once per process. Each affected send has a log line of its own. */
  private logRedisRestart(account: string, { redisRestartedAt, noticedRestartAt }: LaneHead): void {
    const since = noticedRestartAt ?? redisRestartedAt;
    if (since === undefined || this.loggedRestarts.get(account) === since) return;
    this.loggedRestarts.set(account, since);
    this.logger.warn(
      { account, since: new Date(since).toISOString() },
      'Redis restarted or failed over and may have lost its last writes; unfinished sends are searched for before their POST',
    );
  }

  /** Runs one step. Returns the wait before the lane's next step, in milliseconds. */
  private async runStep(account: string, head: LaneHead): Promise<number> {
    const address = await this.sender.addressOf(account);
    return this.execute(account, head, nextStep(head, this.settings.maxAgeMs, address), address);
  }

  /** Verifies the address before the POST. If the address cannot be verified, runs a step that is safe all the same. */
  private async verifyAddressFirst(
    account: string,
    head: LaneHead,
    address: string | undefined,
  ): Promise<number> {
    const result = await this.verifyAddress(account);
    if (result === 'read') return 0;
    // An unreachable server receives no POST. If only the list failed, a send that was accepted for this address may be
    // posted.
    const isIntended = intendedAddress(head.record, address) === address;
    if (result !== 'unreachable' && !(result === 'failed' && isIntended)) return VERIFY_INTERVAL_MS;
    return this.execute(account, head, nextStep(head, this.settings.maxAgeMs, undefined), address);
  }

  private async execute(
    account: string,
    head: LaneHead,
    step: LaneStep,
    address: string | undefined,
  ): Promise<number> {
    const { record, now } = head;
    switch (step.kind) {
      case 'wait':
        return step.ms;
      case 'remove_from_lane':
        await this.store.removeFromLane(account, record);
        return 0;
      case 'expire':
        await this.store.apply(account, record, expiryChange(record, step.reason));
        return 0;
      case 'post':
        return this.post.post(account, head, address);
      case 'verify_address':
        return this.verifyAddressFirst(account, head, address);
      case 'wrong_service':
        await this.store.apply(account, record, {
          transition: 'marked_unknown',
          state: {
            ...lastingFields(record.state),
            reason: otherServiceReason(isAwaitingMessage(record.state)),
          },
        });
        return 0;
      case 'recheck':
        this.logger.warn(
          { account, sendId: record.order.id },
          'the send may have been posted already; searching for it before the POST',
        );
        await this.store.apply(account, record, this.search.recheck(head));
        return 0;
      case 'recover':
        this.logger.warn(
          { account, sendId: record.order.id },
          'the process of a POST ended; searching for the send',
        );
        await this.store.apply(
          account,
          record,
          this.search.begin('abandoned', record, now, 'The process that relayed the send ended.'),
        );
        return 0;
      case 'search':
        return this.search.runStep(account, head);
    }
  }

  /** Reads the contact list, which shows the service that the address leads to. */
  private async verifyAddress(account: string): Promise<'read' | 'unreachable' | ListFailure> {
    const last = this.failedChecks.get(account);
    if (last !== undefined && !last.until.isOver()) return last.result;
    let result: ListFailure = 'failed';
    try {
      await this.lookup.readList(account);
      return 'read';
    } catch (error) {
      if (!(error instanceof UpstreamError || error instanceof BudgetExhaustedError)) throw error;
      // This result is not reused: the server may be reachable a moment later.
      if (error instanceof UpstreamUnreachableError) return 'unreachable';
      if (lacksContactList(error)) result = 'no_list';
    }
    this.failedChecks.set(account, { result, until: new TimeLimit(VERIFY_INTERVAL_MS) });
    return result;
  }
}

/** True if the server answered but has no contact list, for example because the address lacks its path. */
function lacksContactList(error: Error): boolean {
  if (error instanceof UpstreamReplyError) return true;
  if (!(error instanceof UpstreamStatusError)) return false;
  return error.status >= 300 && error.status < 500 && !ACCOUNT_STATUSES.has(error.status);
}
