import { type Conversation, newIdempotencyKey } from '#client';
import type { Rejection } from '../kit/rejection.js';

/** A message that is being written. */
export interface Draft {
  text: string;
  file: File | undefined;
  /** Value of a `datetime-local` field, or undefined if the message is to be sent at once. */
  sendAt: string | undefined;
  /** Phone number of the recipient, if the user chose one. */
  phoneNumber: string | undefined;
  /**
   * Idempotency key of an attempt whose outcome may not be known. Another attempt with the same draft uses the key
   * again, so that the message is sent once. A changed draft is another message, and has no key yet.
   */
  key: string | undefined;
  /** True while an attempt is running. The draft is emptied after it, so it cannot be changed now. */
  isBusy: boolean;
  /** The faults of the draft, or the reason for which the last attempt failed. */
  rejection: Rejection;
}

/** A draft that is being sent. */
export type Attempt = Draft & { key: string; phoneNumber: string };

const NO_REJECTION: Rejection = { faults: {}, other: undefined };

export const EMPTY_DRAFT: Draft = {
  text: '',
  file: undefined,
  sendAt: undefined,
  phoneNumber: undefined,
  key: undefined,
  isBusy: false,
  rejection: NO_REJECTION,
};

/** Returns true if the draft contains more than a chosen phone number. */
export function hasContent({ text, file, sendAt, key }: Draft): boolean {
  return text !== '' || file !== undefined || sendAt !== undefined || key !== undefined;
}

/** Returns the draft after a change by the user. */
export function changedDraft(
  draft: Draft,
  change: Partial<Pick<Draft, 'text' | 'file' | 'sendAt' | 'phoneNumber'>>,
): Draft {
  return { ...draft, ...change, key: undefined, rejection: NO_REJECTION };
}

/** Returns an attempt to send the draft to a phone number. */
export function attemptOf(draft: Draft, phoneNumber: string): Attempt {
  const key = draft.key ?? newIdempotencyKey();
  return { ...draft, phoneNumber, key, isBusy: true, rejection: NO_REJECTION };
}

/** Returns the phone number that the draft goes to: the chosen one, or else the one that was used last. */
export function recipientOf(
  draft: Draft,
  { phoneNumbers, id }: Pick<Conversation, 'phoneNumbers' | 'id'>,
): string {
  const { phoneNumber, key } = draft;
  // An attempt whose outcome is not known is repeated with the same recipient.
  const isUsed = phoneNumber !== undefined && (key !== undefined || phoneNumbers.includes(phoneNumber));
  return isUsed ? phoneNumber : (phoneNumbers[0] ?? id);
}

/** Returns the draft after a send. The phone number stays if the user chose it among several. */
export function draftAfter({ phoneNumber }: Draft, phoneNumbers: readonly string[]): Draft {
  const isChosen = phoneNumber !== undefined && phoneNumbers.length > 1 && phoneNumbers.includes(phoneNumber);
  return isChosen ? { ...EMPTY_DRAFT, phoneNumber } : EMPTY_DRAFT;
}
