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
import { NO_WITHHELD_OR_MUTED_FIELDS, type QuietFields } from './volatile-message-fields.js';

/** How a message that was just read differs from its stored fingerprint. */
export interface FormChange {
  /**
   * The changed fields of the message. The set may be empty although the message changed, because by chance the
   * changed field may have the same 16-bit hash as before.
   */
  differing: FieldSet;
  /** True if at least one field that the stored fingerprint includes has changed. */
  differs: boolean;
  /**
   * Fields that are not included in the stored fingerprint, because they were volatile when it was stored.
   */
  leftOut: FieldSet;
}

export const NO_MESSAGE_CHANGE: FormChange = { differing: 0, differs: false, leftOut: 0 };

/**
 * Compares a message with its stored fingerprint.
 * @param seen fingerprint of the message as just read
 * @param known stored fingerprint, which an older build of Tidings may have written
 */
export function compareWithStoredFingerprint(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  known: Fingerprint,
): FormChange {
  if (haveSameMessageContent(seen, known)) return NO_MESSAGE_CHANGE;
  const leftOut = fieldsLeftOutOfFingerprint(known);
  if (leftOut !== 0 && haveSameMessageContent(messageFingerprintOf(message, leftOut), known)) {
    return { differing: 0, differs: false, leftOut };
  }
  let differing = differingFields(known, seen);
  if (seen.signed === true) {
    const plain = messageFingerprintIncludingUrlSignatures(message);
    if (haveSameMessageContent(plain, known)) return NO_MESSAGE_CHANGE;
    differing &= differingFields(known, plain);
  }
  return { differing: differing & ~leftOut, differs: true, leftOut };
}

/**
 * Returns true if the change of a message emits an event, because at least one changed field is neither withheld
 * nor muted (see `Streak`). If it is unknown which field changed, returns true only if no field of the contact's
 * messages is withheld or muted.
 */
export function isMessageChangeEmitted({ differing, differs }: FormChange, { quiet }: QuietFields): boolean {
  if (!differs) return false;
  return differing === 0 ? quiet === 0 : (differing & ~quiet) !== 0;
}

/**
 * Returns the fingerprint that is stored for a new message, or for a message whose change emits an event.
 * @param seen fingerprint of the message as just read
 */
export function chooseFingerprintToStore(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  { ignored }: QuietFields = NO_WITHHELD_OR_MUTED_FIELDS,
): Fingerprint {
  const left = ignored === 0 ? 0 : nonEmptyFieldsOf(message, ignored);
  return left === 0
    ? seen.signed === true
      ? withoutSignedFlag(seen)
      : seen
    : messageFingerprintOf(message, left);
}

/**
 * Returns the fingerprint that is stored for a message whose change emits no event; undefined if the stored
 * fingerprint must be kept. A muted field is one whose changes emit no events. The new fingerprint leaves out the
 * muted fields that many messages have (`fields.ignored`), and includes fields that are no longer muted.
 * @param seen fingerprint of the message as just read
 */
export function chooseFingerprintForUnemittedChange(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  change: FormChange,
  fields: QuietFields,
): Fingerprint | undefined {
  const { differing, differs, leftOut } = change;
  // A later read may emit this change. Until then, the stored fingerprint must be kept.
  if (differs && (differing & ~fields.ignored) !== 0) return undefined;
  if (!differs && (leftOut & ~fields.ignored) === 0) return undefined;
  return chooseFingerprintToStore(message, seen, fields);
}

function withoutSignedFlag({ high, low, fields }: SeenFingerprint): Fingerprint {
  return { high, low, fields };
}
