/** How the feed polls. */
export interface FeedSettings {
  /** Bounds of one contact's interval, in milliseconds. */
  interval: { min: number; max: number };
  /** Upstream requests a second that an account's polls may plan with. */
  readsPerSecond(account: string): Promise<number>;
  /** What becomes of messages without a readable timestamp when their contact is first read. */
  undated: 'silent' | 'emit';
}
