import type { TimeLimit } from '#platform';
import type { PostToken } from '#upstream';
import type { SendRecord } from '../send/send-record.js';

/** A send that is marked as being posted, and what its POST needs. */
export interface FencedSend {
  record: SendRecord;
  /** When Redis was asked to set the send's status to `relaying`, as a value of `performance.now()`. */
  fencedAt: number;
  /** The POST must start before this limit. */
  untilPost: TimeLimit;
  /**
   * Before this limit, other workers cannot have done more than begin a look-up of the send, so the outcome of the
   * POST still counts.
   */
  untilDecided: TimeLimit;
  /** The token of the request budget for the POST. */
  token: PostToken;
}
