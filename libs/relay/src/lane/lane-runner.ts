import { type Logger, TimeLimit } from '#platform';
import {
  BudgetExhaustedError,
  UpstreamError,
  UpstreamReplyTooLargeError,
  UpstreamReplyUnreadableError,
  UpstreamStatusError,
  UpstreamUnreachableError,
} from '#upstream';
import type { BlobStore } from '#blobs';
import { upstreamAddressHashStoredWithSend, reasonOfSendToFormerService } from './service-check.js';
import { type LaneStep, nextLaneStep } from './lane-step.js';
import type { Lookup, RelayJobs, Sender, SendingAccount } from '../ports.js';
import type { RelaySettings } from '../send/relay-settings.js';
import type { LaneHead } from '../send/lane-store.js';
import type { RelayStore } from '../send/relay-store.js';
import { MAX_STEP_BEFORE_POST_MS } from './send-fencer.js';
import { SendPoster } from './send-poster.js';
import { stateChangeOfExpiredSend } from '../send/send-expiry.js';
import { hasPostWithoutMessage, fieldsKeptAcrossTransitions, mayHaveLostPost } from '../send/send-record.js';
import { SendLookupRunner } from './send-lookup-runner.js';

/**
 * Maximum number of steps, such as POSTs and look-ups, in one run of a lane (a recipient's queue of sends), so that a
 * long lane does not block its worker.
 */
const MAX_STEPS_PER_RUN = 50;
/**
 * Maximum delay of a wake-up job, in milliseconds. The delay is short, because a job contains a phone number, and the
 * removal of an account does not delete the account's delayed jobs.
 */
const MAX_HINT_DELAY_MS = 60_000;
/**
 * Wait after a failed try to identify the service behind an upstream address, in milliseconds. During this wait, this
 * process does not read the contact list again to identify the service. No wait follows if the server is unreachable.
 */
const VERIFY_INTERVAL_MS = 5_000;
/**
 * HTTP statuses caused by the API key, the request rate or a temporary state of the server. They do not mean that the
 * upstream address is wrong.
 */
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

/**
 * Why the service behind an upstream address could not be identified. `no_list`: the server has no contact list.
 * `failed`: the contact list could not be read.
 */
type ServiceCheckFailure = 'no_list' | 'failed';

/**
 * Relays the sends of lanes to upstream. Within a lane, relays one send at a time, in the order in which the sends
 * joined the lane.
 */
export class LaneRunner {
  private readonly lookups: SendLookupRunner;
  private readonly post: SendPoster;
  /** For each account: time of the Redis restart that was last logged, in milliseconds since 1970. */
  private readonly loggedRestarts = new Map<string, number>();
  /**
   * For each account: why the service behind the upstream address could not be identified, and when the contact list
   * may be read again to identify it.
   */
  private readonly failedChecks = new Map<string, { result: ServiceCheckFailure; until: TimeLimit }>();
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
    this.lookups = new SendLookupRunner(store, lookup, settings);
    this.post = new SendPoster(store, sender, lookup, blobs, this.lookups, settings, logger, random);
  }

  /**
   * Ends each run of a lane after its current step. No send is lost: a lane with remaining sends stays due, and
   * another worker runs it.
   */
  stop(): void {
    this.stopping = true;
  }

  /** Discards what this process remembers about a removed account. */
  forget(account: string): void {
    this.loggedRestarts.delete(account);
    this.failedChecks.delete(account);
  }

  /**
   * Runs the steps of a lane that are due. Two processes may run the same lane at the same time: a step changes
   * nothing if the send has changed since it was read.
   * @returns false if the lane was empty
   */
  async run(account: string, lane: string): Promise<boolean> {
    for (let steps = 0; steps < MAX_STEPS_PER_RUN && !this.stopping; steps += 1) {
      const untilFence = new TimeLimit(MAX_STEP_BEFORE_POST_MS);
      const head = await this.store.laneHead(account, lane);
      if (head === undefined) return steps > 0;
      this.logRedisRestart(account, head);
      const waitMs = await this.runStep(account, head, untilFence);
      if (waitMs === undefined) return true;
      if (waitMs > 0 && (await this.store.postponeLane(account, head.record, waitMs))) {
        await this.jobs.wake(account, [lane], Math.min(waitMs, MAX_HINT_DELAY_MS));
        return true;
      }
    }
    await this.jobs.wake(account, [lane]);
    return true;
  }

  /** Logs a Redis restart once per account in this process. */
  private logRedisRestart(account: string, { redisRestartedAt, noticedRestartAt }: LaneHead): void {
    const since = noticedRestartAt ?? redisRestartedAt;
    if (since === undefined || this.loggedRestarts.get(account) === since) return;
    this.loggedRestarts.set(account, since);
    this.logger.warn(
      { account, since: new Date(since).toISOString() },
      'Redis restarted or failed over and may have lost its last writes; each send from before this restart is looked up before it is posted',
    );
  }

  /**
   * Runs the next step of a lane. Returns the wait before the following step, in milliseconds, or undefined if
   * upstream accepted the last send of the lane.
   */
  private async runStep(account: string, head: LaneHead, untilFence: TimeLimit): Promise<number | undefined> {
    const sending = await this.sender.accountOf(account);
    const step = nextLaneStep(head, this.settings.maxAgeMs, sending.address);
    return this.execute(account, head, step, { ...sending, untilFence });
  }

  /**
   * Checks which service is behind the upstream address before a send is posted. If the check does not succeed, the
   * send's next step runs only if it is safe without the check.
   */
  private async verifyAddressFirst(
    account: string,
    head: LaneHead,
    address: string | undefined,
  ): Promise<number | undefined> {
    const result = await this.verifyAddress(account);
    if (result === 'read') return 0;
    // The service behind the upstream address is not known, but a POST is still safe in two cases. First: the server
    // is unreachable, so no service gets the POST. Second: the contact list could not be read, but the address has
    // not changed since the send was stored or last resent.
    const isStoredForAddress = upstreamAddressHashStoredWithSend(head.record, address) === address;
    const isSafe = result === 'unreachable' || (result === 'failed' && isStoredForAddress);
    if (!isSafe) return VERIFY_INTERVAL_MS;
    // Read the send again, because the check may have taken seconds. In that time, the send may have expired, or
    // another worker may have posted it.
    const untilFence = new TimeLimit(MAX_STEP_BEFORE_POST_MS);
    const current = await this.store.laneHead(account, head.record.order.phoneNumber);
    if (current?.record.order.id !== head.record.order.id) return 0;
    this.logRedisRestart(account, current);
    const step = nextLaneStep(current, this.settings.maxAgeMs, undefined);
    // The budget may have changed, too. The address must stay the one that was checked.
    const { requestsPerSecond } = await this.sender.accountOf(account);
    return this.execute(account, current, step, { address, requestsPerSecond, untilFence });
  }

  private async execute(
    account: string,
    head: LaneHead,
    step: LaneStep,
    limits: SendingAccount & { untilFence: TimeLimit },
  ): Promise<number | undefined> {
    const { record, now } = head;
    switch (step.kind) {
      case 'wait':
        return step.ms;
      case 'remove_from_lane':
        await this.store.removeFromLane(account, record);
        return 0;
      case 'expire':
        await this.store.apply(account, record, stateChangeOfExpiredSend(record, step.reason));
        return 0;
      case 'post':
        return this.post.post(account, head, limits);
      case 'verify_address':
        return this.verifyAddressFirst(account, head, limits.address);
      case 'wrong_service': {
        const isPostLost = head.redisRestartedAt !== undefined || mayHaveLostPost(record.state);
        const mayBeAccepted = isPostLost || hasPostWithoutMessage(record.state);
        const reason = reasonOfSendToFormerService(mayBeAccepted);
        await this.store.apply(account, record, {
          transition: 'marked_unknown',
          state: { ...fieldsKeptAcrossTransitions(record.state), reason },
          mayHaveLostPost: isPostLost,
        });
        return 0;
      }
      case 'recheck':
        this.logger.warn(
          { account, sendId: record.order.id },
          'the send may have been posted already; looking up its message first',
        );
        await this.store.apply(account, record, this.lookups.recheck(head));
        return 0;
      case 'recover':
        this.logger.warn(
          { account, sendId: record.order.id },
          'a process ended or hung while it posted a send; looking up the message of the send',
        );
        await this.store.apply(
          account,
          record,
          this.lookups.begin('abandoned', record, now, 'The process that relayed the send ended.'),
        );
        return 0;
      case 'look_up':
        return this.lookups.runStep(account, head);
    }
  }

  /**
   * Reads the contact list, because its contacts show which service is behind the upstream address. Returns `read`,
   * or why the list could not be read. After a failure, returns the same failure for {@link VERIFY_INTERVAL_MS}
   * without another read, unless the server was unreachable.
   */
  private async verifyAddress(account: string): Promise<'read' | 'unreachable' | ServiceCheckFailure> {
    const last = this.failedChecks.get(account);
    if (last !== undefined && !last.until.isOver()) return last.result;
    let result: ServiceCheckFailure = 'failed';
    try {
      await this.lookup.readList(account);
      return 'read';
    } catch (error) {
      if (!(error instanceof UpstreamError || error instanceof BudgetExhaustedError)) throw error;
      // Do not cache `unreachable`, because the server may be reachable a moment later.
      if (error instanceof UpstreamUnreachableError) return 'unreachable';
      if (isNoContactListError(error)) result = 'no_list';
    }
    this.failedChecks.set(account, { result, until: new TimeLimit(VERIFY_INTERVAL_MS) });
    return result;
  }
}

/**
 * True if the server answered but has no contact list, for example because the upstream address was configured
 * without its path.
 */
function isNoContactListError(error: Error): boolean {
  // A reply that is too large, or that could not be decompressed or stored, does not show whether it is a contact
  // list. The error of such a reply is an `UpstreamReplyTooLargeError` or has a cause.
  if (error instanceof UpstreamReplyUnreadableError)
    return !(error instanceof UpstreamReplyTooLargeError) && error.cause === undefined;
  if (!(error instanceof UpstreamStatusError)) return false;
  return error.status >= 300 && error.status < 500 && !ACCOUNT_STATUSES.has(error.status);
}
