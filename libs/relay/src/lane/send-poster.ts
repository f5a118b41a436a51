import { DeadlineError, type Logger, logMessageOf, type TimeLimit, withDeadline } from '#platform';
import {
  BudgetExhaustedError,
  type PostToken,
  type UpstreamSend,
  UpstreamRequestNotSentError,
  UpstreamUnavailableError,
} from '#upstream';
import { type AttemptResult, classifyPostError } from './attempt-outcome.js';
import { BlobMissingError, type BlobStore, BlobStoreUnavailableError } from '#blobs';
import type { Lookup, Sender, SendingAccount } from '../ports.js';
import type { RelaySettings } from '../send/relay-settings.js';
import type { LaneHead } from '../send/lane-store.js';
import type { RelayStore } from '../send/relay-store.js';
import type { SendRecord } from '../send/send-record.js';
import { PostOutcomeRecorder } from './post-outcome-recorder.js';
import { MAX_STEP_BEFORE_POST_MS, SendFencer } from './send-fencer.js';
import { MAX_LANE_WAIT_IN_OUTAGE_MS, type SendLookupRunner } from './send-lookup-runner.js';

/**
 * Posts one send to upstream: first marks the send as `relaying` (the fence), then makes the POST and records its
 * outcome.
 */
export class SendPoster {
  private readonly fencer: SendFencer;
  private readonly outcomes: PostOutcomeRecorder;

  constructor(
    store: RelayStore,
    private readonly sender: Sender,
    lookup: Lookup,
    private readonly blobs: BlobStore,
    lookups: SendLookupRunner,
    private readonly settings: RelaySettings,
    logger: Logger,
    random: () => number,
  ) {
    this.outcomes = new PostOutcomeRecorder(store, sender, lookup, lookups, settings, logger, random);
    this.fencer = new SendFencer(store, sender, this.outcomes, settings);
  }

  /**
   * Posts the first send in a lane. Returns the wait before the lane's next step, in milliseconds; 0 means that the
   * next step can start at once. Returns undefined if upstream accepted the last send of the lane.
   * @param head the lane's first send, as it was read when `untilFence` started
   * @param limits `address`: hash of the only upstream address that the send may be posted to. `requestsPerSecond`:
   *   the account's request budget. `untilFence`: the send must be marked as `relaying` before this limit, because
   *   the send may expire soon after it was read.
   */
  async post(
    account: string,
    head: LaneHead,
    { address, requestsPerSecond, untilFence }: SendingAccount & { untilFence: TimeLimit },
  ): Promise<number | undefined> {
    const fenced = await this.fencer.fence(account, head, { requestsPerSecond, untilFence });
    if ('waitMs' in fenced) return fenced.waitMs;
    const { record, untilPost, untilDecided, token } = fenced;
    const request = await this.requestOf(record, untilPost);
    if (request instanceof Error) return this.outcomes.recordUnavailableFile(account, fenced, request);
    const result = await this.attempt(account, request, untilPost, token, address);
    return 'notSent' in result
      ? this.outcomes.requeueUnposted(account, record, untilDecided, result.waitMs)
      : this.outcomes.record(account, fenced, result);
  }

  /**
   * Returns the content of the POST, or an error that says why the send's file cannot be read.
   * @param untilPost time limit within which the POST must begin. If the limit has passed when the file is open, the
   * file is closed, and an error is returned
   */
  private async requestOf(
    { order }: SendRecord,
    untilPost: TimeLimit,
  ): Promise<UpstreamSend | BlobMissingError | BlobStoreUnavailableError> {
    const { phoneNumber, type, message, fileUrl, extraFields, file } = order;
    const request: UpstreamSend = {
      phoneNumber,
      type,
      ...(message === undefined ? {} : { message }),
      ...(fileUrl === undefined ? {} : { fileUrl }),
      ...(extraFields === undefined ? {} : { extraFields }),
    };
    if (file === undefined) return request;
    const { blobId, name, contentType, size } = file;
    const opening = this.blobs.open(blobId);
    try {
      const content = await withDeadline(opening, MAX_STEP_BEFORE_POST_MS, 'opening the file');
      if (!untilPost.isOver()) return { ...request, file: { name, contentType, size, content } };
      content.destroy();
      return new BlobStoreUnavailableError('opening the file took too long');
    } catch (error) {
      if (error instanceof BlobMissingError || error instanceof BlobStoreUnavailableError) return error;
      if (!(error instanceof DeadlineError)) throw error;
      // The blob store may still open the file after the timeout. In that case, close the file at once.
      opening.then(
        (content) => content.destroy(),
        () => undefined,
      );
      return new BlobStoreUnavailableError('opening the file took too long');
    }
  }

  private async attempt(
    account: string,
    request: UpstreamSend,
    limit: TimeLimit,
    token: PostToken,
    address: string | undefined,
  ): Promise<AttemptResult | { notSent: true; waitMs: number }> {
    try {
      await this.sender.post(account, request, limit, token, address);
      return { outcome: 'accepted', httpStatus: 200 };
    } catch (error) {
      if (error instanceof UpstreamRequestNotSentError) return { notSent: true, waitMs: 0 };
      if (error instanceof BudgetExhaustedError) return { notSent: true, waitMs: error.retryAfterMs };
      if (error instanceof UpstreamUnavailableError)
        return { notSent: true, waitMs: MAX_LANE_WAIT_IN_OUTAGE_MS };
      return { ...classifyPostError(error, this.settings.safeStatuses), fault: logMessageOf(error) };
    }
  }
}
