import type { UpstreamMessage } from '#upstream';
import { messageFingerprintOf, type SeenFingerprint } from '../form/fingerprint.js';
import { compareWithStoredFingerprint, type MessageDifference } from '../form/message-form.js';
import type { KnownMessage } from '../snapshot/known-message.js';

/**
 * A message that a read returned, its snapshot, and the difference between the two. For a new message, the snapshot
 * (`before`) and the difference (`form`) are undefined.
 */
export interface ComparedMessage {
  message: UpstreamMessage;
  /** Fingerprint of the message as just read. */
  seen: SeenFingerprint;
  before: KnownMessage | undefined;
  form: MessageDifference | undefined;
}

/**
 * Compares messages with their snapshots.
 * @param known snapshots by message id
 */
export function compareMessages(
  observed: readonly UpstreamMessage[],
  known: ReadonlyMap<string, KnownMessage>,
): ComparedMessage[] {
  return observed.map((message) => {
    const before = known.get(message.id);
    const seen = messageFingerprintOf(message);
    const form = before && compareWithStoredFingerprint(message, seen, before.fingerprint);
    return { message, seen, before, form };
  });
}
