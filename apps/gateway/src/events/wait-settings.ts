import type { CallerLimits } from '../auth/caller-slots.js';

/** Limits and intervals of long polls and event streams. The limits apply to both together. */
export interface WaitSettings extends CallerLimits {
  /**
   * Interval at which the log is read even without a notification, in milliseconds. If a notification is lost, its
   * event is delayed by at most this time.
   */
  recheckMs: number;
  /** Interval of comments on a silent stream, in milliseconds. The API key is checked at the same interval. */
  commentMs: number;
  /** Time for a client to receive written data before the stream disconnects it, in milliseconds. */
  writeTimeoutMs: number;
}

export const WAIT_SETTINGS: WaitSettings = {
  max: 1_000,
  maxPerAccount: 500,
  maxPerAccountForTokens: 400,
  maxPerToken: 20,
  recheckMs: 1_000,
  commentMs: 15_000,
  writeTimeoutMs: 30_000,
};
