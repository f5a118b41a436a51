import type { UpstreamMessage } from '#upstream';
import {
  differingFields,
  type FieldSet,
  filledFields,
  type Fingerprint,
  fingerprintOf,
  ignoredFields,
  haveSameContent,
  fingerprintWithSignatures,
  type SeenFingerprint,
} from './fingerprint.js';
import { NO_QUIET_FIELDS, type QuietFields } from './volatility.js';

/** Difference between the stored fingerprint of a message and the message as just read. */
export interface FormChange {
  /** Changed fields; empty although the message changed, if the changed field has the same 16-bit hash as before. */
  differing: FieldSet;
  /** True if any field differs that the stored fingerprint covers. */
  differs: boolean;
  /** Fields that the stored fingerprint leaves out, since they were volatile at the last read. */
  leftOut: FieldSet;
}

export const NO_MESSAGE_CHANGE: FormChange = { differing: 0, differs: false, leftOut: 0 };

/** Compares a message with its stored fingerprint, which an older build may have written. */
export function changeOfMessage(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  known: Fingerprint,
): FormChange {
  if (haveSameContent(seen, known)) return NO_MESSAGE_CHANGE;
  const leftOut = ignoredFields(known);
  if (leftOut !== 0 && haveSameContent(fingerprintOf(message, leftOut), known)) {
    return { differing: 0, differs: false, leftOut };
  }
  let differing = differingFields(known, seen);
  if (seen.signed === true) {
    const plain = fingerprintWithSignatures(message);
    if (haveSameContent(plain, known)) return NO_MESSAGE_CHANGE;
    differing &= differingFields(known, plain);
  }
  return { differing: differing & ~leftOut, differs: true, leftOut };
}

/** Returns true if the change is emitted: a field that is not quiet differs. */
export function isChangeEmitted({ differing, differs }: FormChange, { quiet }: QuietFields): boolean {
  if (!differs) return false;
  return differing === 0 ? quiet === 0 : (differing & ~quiet) !== 0;
}

/** Returns the fingerprint to store of a message that is new or whose change is emitted. */
export function fingerprintToStore(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  { ignored }: QuietFields = NO_QUIET_FIELDS,
): Fingerprint {
  const left = ignored === 0 ? 0 : filledFields(message, ignored);
  return left === 0 ? (seen.signed === true ? withoutSignedFlag(seen) : seen) : fingerprintOf(message, left);
}

/**
 * Returns the fingerprint to store of a message whose change is not emitted; undefined if the stored fingerprint stays.
 * Leaves out fields that are muted for many messages, and includes fields that are no longer muted.
 */
export function quietFingerprintToStore(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  change: FormChange,
  fields: QuietFields,
): Fingerprint | undefined {
  const { differing, differs, leftOut } = change;
  // A withheld change is emitted later: until then the stored fingerprint stays.
  if (differs && (differing & ~fields.ignored) !== 0) return undefined;
  if (!differs && (leftOut & ~fields.ignored) === 0) return undefined;
  return fingerprintToStore(message, seen, fields);
}

function withoutSignedFlag({ high, low, fields }: SeenFingerprint): Fingerprint {
  return { high, low, fields };
}
