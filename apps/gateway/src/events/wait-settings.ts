/** How callers wait for events. */
export interface WaitSettings {
  /** Callers of one gateway that wait at the same moment, long polls and streams together. */
  mostWaiting: number;
  /** Of these, callers of one account. */
  mostOfAccount: number;
  /** Without a hint that the log grew it is looked at after so many milliseconds: no lost hint costs more. */
  lookMs: number;
  /** A stream that has been silent for so many milliseconds says something; its key is looked at again as often. */
  commentMs: number;
  /** A stream's client that takes nothing for so many milliseconds is cut off. */
  takeMs: number;
}

export const WAIT_SETTINGS: WaitSettings = {
  mostWaiting: 1_000,
  mostOfAccount: 500,
  lookMs: 1_000,
  commentMs: 15_000,
  takeMs: 30_000,
};
