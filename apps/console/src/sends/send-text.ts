import type { Send, SendAttempt, SendLookup } from '#client';
import { countText } from '../kit/text.js';

type SendStatus = Send['status'];

const SENTENCES: Readonly<Record<SendStatus, string>> = {
  scheduled: 'The send waits until its scheduled time.',
  queued:
    'The send waits for its turn. Sends to one recipient are relayed in the order in which they joined the queue.',
  relaying: 'Tidings is handing the send to the messaging service now.',
  accepted: 'The messaging service accepted the send. Its message has not appeared in the conversation yet.',
  sent: 'The message was sent. It is not yet reported as delivered.',
  delivered: 'The message was delivered to the recipient.',
  read: 'The recipient has read the message.',
  unknown:
    'The messaging service may or may not have accepted the send, and its message was not found in time. Nothing is sent again unless you decide so.',
  failed: 'The send failed. The recipient gets nothing, unless you send it again.',
  expired: 'The send was not handed to the messaging service in time, so it will not be sent.',
  cancelled: 'The send was cancelled before it was handed to the messaging service.',
};

/** Returns the status of a send as a sentence. */
export function statusSentence({ status, attempts }: Pick<Send, 'status' | 'attempts'>): string {
  if (status === 'relaying' && attempts.at(-1)?.outcome === 'ambiguous')
    return 'The messaging service may or may not have accepted the send. Tidings looks for its message before anything is sent again.';
  return SENTENCES[status];
}

const ATTEMPTS: Readonly<Record<SendAttempt['outcome'], string>> = {
  accepted: 'The messaging service accepted the send.',
  not_taken: 'The messaging service did not accept the send, so another attempt is safe.',
  refused: 'The messaging service rejected the send for good.',
  ambiguous: 'It is not certain whether the messaging service accepted the send.',
};

/** Returns the outcome of an attempt as a sentence. */
export function attemptSentence({ outcome }: SendAttempt): string {
  return ATTEMPTS[outcome];
}

const LOOKUPS: Readonly<Record<SendLookup['outcome'], string>> = {
  found: 'The message of the send was found.',
  ambiguous: 'Several messages fit the send equally well, so none was recorded as its message.',
  not_found: 'No message fits the send.',
  incomplete: 'Some messages could not be read. None of the messages that were read fits the send.',
  failed: 'The messages could not be read.',
};

/** Returns the outcome of a look-up as a sentence. */
export function lookupSentence({ outcome }: SendLookup): string {
  return LOOKUPS[outcome];
}

/** Returns what a look-up read. */
export function readText({ messagesRead, contactIds }: SendLookup): string {
  if (contactIds.length === 0) return 'The recipient had no contact, so there was no message to read.';
  const messages = countText(messagesRead, 'message', 'messages');
  return `${messages} of ${countText(contactIds.length, 'contact', 'contacts')} read.`;
}

/** True if the send can be cancelled. */
export function isCancellable({ status }: Pick<Send, 'status'>): boolean {
  return status === 'scheduled' || status === 'queued';
}

/** True if the send can be sent again. */
export function isResendable({ status }: Pick<Send, 'status'>): boolean {
  return status === 'unknown' || status === 'failed';
}

/** True if the user can record the outcome of the send. */
export function isUndecided({ status }: Pick<Send, 'status'>): boolean {
  return status === 'unknown';
}

/** Returns the content of a send in one line: its text, or its file. */
export function previewOf({ message, file, fileUrl }: Pick<Send, 'message' | 'file' | 'fileUrl'>): string {
  return message ?? file?.name ?? fileUrl ?? '';
}
