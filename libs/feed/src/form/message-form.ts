import type { UpstreamMessage } from '#upstream';
import {
  differingFields,
  type FieldSet,
  filledFields,
  type Fingerprint,
  fingerprintOf,
  ignoredFields,
  isSameForm,
  plainFingerprintOf,
  type SeenFingerprint,
} from './fingerprint.js';
import { ALL_HEARD, type QuietFields } from './volatility.js';

/** How the form of a message that is known differs from the one that is seen. */
export interface FormChange {
  /** In these fields; none where it differs in one that cannot be named: its few bits are the same as before. */
  differing: FieldSet;
  /** Whether it differs at all in what is kept of it. */
  differs: boolean;
  /** What is not kept of it, as it was volatile when it was last seen. */
  unkept: FieldSet;
}

export const NO_CHANGE: FormChange = { differing: 0, differs: false, unkept: 0 };

/** Compares what is seen of a message with what is known, whichever build wrote that. */
export function formChange(message: UpstreamMessage, seen: SeenFingerprint, known: Fingerprint): FormChange {
  if (isSameForm(seen, known)) return NO_CHANGE;
  const unkept = ignoredFields(known);
  if (unkept !== 0 && isSameForm(fingerprintOf(message, unkept), known)) {
    return { differing: 0, differs: false, unkept };
  }
  let differing = differingFields(known, seen);
  if (seen.signed === true) {
    const plain = plainFingerprintOf(message);
    if (isSameForm(plain, known)) return NO_CHANGE;
    differing &= differingFields(known, plain);
  }
  return { differing: differing & ~unkept, differs: true, unkept };
}

/** Whether a change of form is told: it is in a field that is not quiet. */
export function isTold({ differing, differs }: FormChange, { quiet }: QuietFields): boolean {
  if (!differs) return false;
  return differing === 0 ? quiet === 0 : (differing & ~quiet) !== 0;
}

/** What is to be known of a message that is new, or whose change is told. */
export function knownForm(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  { ignored }: QuietFields = ALL_HEARD,
): Fingerprint {
  const left = ignored === 0 ? 0 : filledFields(message, ignored);
  return left === 0 ? (seen.signed === true ? withoutMark(seen) : seen) : fingerprintOf(message, left);
}

/**
 * What is to be known of a message whose change is not told; undefined: what is known already. A field that is muted for
 * many messages is not kept of them any more, and one that is heard again is kept again, as it is now.
 */
export function quietForm(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  change: FormChange,
  fields: QuietFields,
): Fingerprint | undefined {
  const { differing, differs, unkept } = change;
  // What is withheld is told later: until then the message is known as it was told.
  if (differs && (differing & ~fields.ignored) !== 0) return undefined;
  if (!differs && (unkept & ~fields.ignored) === 0) return undefined;
  return knownForm(message, seen, fields);
}

function withoutMark({ high, low, fields }: SeenFingerprint): Fingerprint {
  return { high, low, fields };
}
