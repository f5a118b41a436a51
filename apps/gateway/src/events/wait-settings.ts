/** Limits and intervals of long polls and event streams. */
export interface WaitSettings {
  /** Maximum number of simultaneous long polls and streams of one gateway. */
  maxWaiting: number;
  /** Maximum number of simultaneous long polls and streams of one account at one gateway. */
  maxPerAccount: number;
  /**
   * Maximum number of simultaneous long polls and streams of all tokens of one account at one gateway. The rest of
   * `maxPerAccount` is for API keys and sessions of the console.
   */
  maxPerAccountForTokens: number;
  /** Maximum number of simultaneous long polls and streams of one token at one gateway. */
  maxPerToken: number;
  /** Interval at which the log is read even without a notification, in milliseconds. It bounds the delay of a lost one. */
  recheckMs: number;
  /** Interval of comments on a silent stream, in milliseconds. The API key is checked at the same interval. */
  commentMs: number;
  /** Time for a client to receive written data before the stream disconnects it, in milliseconds. */
  writeTimeoutMs: number;
}

export const WAIT_SETTINGS: WaitSettings = {
  maxWaiting: 1_000,
  maxPerAccount: 500,
  maxPerAccountForTokens: 400,
  maxPerToken: 20,
  recheckMs: 1_000,
  commentMs: 15_000,
  writeTimeoutMs: 30_000,
};
