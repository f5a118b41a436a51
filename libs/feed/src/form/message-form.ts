import type { UpstreamMessage } from '#upstream';
import {
  differingFields,
  type FieldSet,
  nonEmptyFieldsOf,
  type Fingerprint,
  messageFingerprintOf,
  fieldsLeftOutOfFingerprint,
  haveSameMessageContent,
  messageFingerprintIncludingUrlSignatures,
  type SeenFingerprint,
} from './fingerprint.js';
import { NO_WITHHELD_OR_MUTED_FIELDS, type WithheldOrMutedFields } from './volatile-message-fields.js';

/** How a message that was just read differs from its stored fingerprint. */
export interface MessageDifference {
  /**
   * The changed fields of the message. The set may be empty although the message changed, because by chance the
   * changed field may have the same 16-bit hash as before.
   */
  changedFields: FieldSet;
  /** True if at least one field that the stored fingerprint includes has changed. */
  isChanged: boolean;
  /**
   * Fields that are not included in the stored fingerprint, because they were volatile when the fingerprint was
   * stored.
   */
  leftOutFields: FieldSet;
}

export const NO_MESSAGE_DIFFERENCE: MessageDifference = {
  changedFields: 0,
  isChanged: false,
  leftOutFields: 0,
};

/**
 * Compares a message with its stored fingerprint.
 * @param seen fingerprint of the message as just read
 * @param known stored fingerprint, which an older build of Tidings may have written
 */
export function compareWithStoredFingerprint(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  known: Fingerprint,
): MessageDifference {
  if (haveSameMessageContent(seen, known)) return NO_MESSAGE_DIFFERENCE;
  const leftOutFields = fieldsLeftOutOfFingerprint(known);
  if (leftOutFields !== 0 && haveSameMessageContent(messageFingerprintOf(message, leftOutFields), known)) {
    return { changedFields: 0, isChanged: false, leftOutFields };
  }
  let changedFields = differingFields(known, seen);
  if (seen.signed === true) {
    const plain = messageFingerprintIncludingUrlSignatures(message);
    if (haveSameMessageContent(plain, known)) return NO_MESSAGE_DIFFERENCE;
    changedFields &= differingFields(known, plain);
  }
  return { changedFields: changedFields & ~leftOutFields, isChanged: true, leftOutFields };
}

/**
 * Returns true if the change of a message emits an event, because at least one changed field is neither withheld
 * nor muted (see `Streak`). If it is unknown which field changed, returns true only if no field of the contact's
 * messages is withheld or muted.
 */
export function isMessageChangeEmitted(
  { changedFields, isChanged }: MessageDifference,
  { withheldOrMuted }: WithheldOrMutedFields,
): boolean {
  if (!isChanged) return false;
  return changedFields === 0 ? withheldOrMuted === 0 : (changedFields & ~withheldOrMuted) !== 0;
}

/**
 * Returns true if one of the given fields has changed. Also returns true if the message has changed and it is unknown
 * which field changed.
 */
export function mayFieldsHaveChanged(
  { changedFields, isChanged }: MessageDifference,
  fields: FieldSet,
): boolean {
  return isChanged && (changedFields === 0 || (changedFields & fields) !== 0);
}

/**
 * Returns the fingerprint to store for a new message, or for a message whose change emits an event.
 * @param seen fingerprint of the message as just read
 */
export function chooseFingerprintToStore(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  { ignored }: WithheldOrMutedFields = NO_WITHHELD_OR_MUTED_FIELDS,
): Fingerprint {
  const left = ignored === 0 ? 0 : nonEmptyFieldsOf(message, ignored);
  return left === 0
    ? seen.signed === true
      ? withoutSignedFlag(seen)
      : seen
    : messageFingerprintOf(message, left);
}

/**
 * Returns the new fingerprint to store for a message, if the change of the message emits no event. Returns undefined
 * if the stored fingerprint must not be replaced, because it is still correct, or because a later read must detect
 * the change again.
 * @param seen fingerprint of the message as just read
 */
export function chooseFingerprintAfterChangeWithoutEvent(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  change: MessageDifference,
  fields: WithheldOrMutedFields,
): Fingerprint | undefined {
  const { changedFields, isChanged, leftOutFields } = change;
  const mayBeEmittedLater = isChanged && (changedFields & ~fields.ignored) !== 0;
  if (mayBeEmittedLater) return undefined;
  if (!isChanged && (leftOutFields & ~fields.ignored) === 0) return undefined;
  return chooseFingerprintToStore(message, seen, fields);
}

function withoutSignedFlag({ high, low, fields }: SeenFingerprint): Fingerprint {
  return { high, low, fields };
}
