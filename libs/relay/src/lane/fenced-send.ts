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
   * Until this limit is over, other workers can at most have begun to look up the send, so the outcome of the POST
   * can still be recorded.
   */
  untilDecided: TimeLimit;
  /** The token of the request budget for the POST. */
  token: PostToken;
}
