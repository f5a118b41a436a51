import type { Send, SendStatus } from './send.js';

/** Which sends are wanted; all that is given must hold. */
export interface SendFilter {
  status?: SendStatus;
  reference?: string;
  /** E.164. */
  phoneNumber?: string;
}

/** A part of the list, the newest first. */
export interface SendPage {
  sends: Send[];
  /** Where the list goes on; absent at its end. A page may be short, or empty, and the list go on all the same. */
  next?: number;
}

/** How the sends of an account stand. */
export interface SendsOverview {
  /** How many sends stand so. */
  counts: Readonly<Record<SendStatus, number>>;
  lanes: {
    /** Recipients with sends that are queued or relaying. */
    count: number;
    /** Of these, how many have something to do now. */
    due: number;
    /** The most sends in one of them. */
    deepest: number;
  };
  /** For how long the first of the queued and relaying sends has been in its lane, in milliseconds. */
  oldestQueuedMs: number;
}

/** Reads sends by the indexes that are written in the same steps as the sends. */
export interface SendList {
  /**
   * The sends that match, in the reverse order of their acceptance. What one call costs is bounded, however many sends
   * there are and however few match.
   * @param before the `next` of an earlier page
   */
  list(account: string, filter: SendFilter, limit: number, before?: number): Promise<SendPage>;

  overview(account: string): Promise<SendsOverview>;
}
