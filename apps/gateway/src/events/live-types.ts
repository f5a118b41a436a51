/** Types of what streams report without storing it. A stream sends them only if its `types` name them. */
export const LIVE_TYPES = ['conversation.updated', 'send.updated'] as const;

/** Type of a change that is not stored. */
export type LiveType = (typeof LIVE_TYPES)[number];
