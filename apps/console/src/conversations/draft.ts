/** A message that is being written. */
export interface Draft {
  text: string;
  file: File | undefined;
  /** Value of a `datetime-local` field, or undefined if the message is to be sent at once. */
  sendAt: string | undefined;
  /** Phone number of the recipient, if the reader chose one. */
  phoneNumber: string | undefined;
  /**
   * Idempotency key of an attempt whose outcome may not be known. Another attempt with the same draft uses it again, so
   * that the message is sent once. A changed draft is another message, and has no key yet.
   */
  key: string | undefined;
}

export const EMPTY_DRAFT: Draft = {
  text: '',
  file: undefined,
  sendAt: undefined,
  phoneNumber: undefined,
  key: undefined,
};

/** Returns the draft after a change by the reader. */
export function changedDraft(draft: Draft, change: Partial<Omit<Draft, 'key'>>): Draft {
  return { ...draft, ...change, key: undefined };
}
