import type { NewSend, Send, Tidings } from '#client';
import { type Faults, rejectionOf } from '../kit/rejection.js';
import { type Attempt, type Draft } from './draft.js';
import type { KeptDrafts } from './kept-drafts.js';

const FIELDS = ['message', 'file', 'sendAt', 'phoneNumber'];

/**
 * Sends a kept draft, and returns the send. The outcome is kept with the draft, because the page may show something
 * else when the outcome is known.
 * @param next the draft after a success
 * @throws {TidingsError | TidingsConnectionError} after the error was kept with the draft
 */
export async function sendDraft(
  client: Pick<Tidings, 'send'>,
  kept: KeptDrafts,
  signInId: string,
  attempt: Attempt,
  next: Draft,
): Promise<Send> {
  const { key, file } = attempt;
  const body = bodyOf(attempt);
  try {
    const queued = await client.send(body, {
      idempotencyKey: key,
      ...(file === undefined ? {} : { file, fileName: file.name }),
    });
    kept.update(signInId, key, () => next);
    return storedSend(queued.id, body, file);
  } catch (error) {
    const rejection = rejectionOf(error, FIELDS);
    kept.update(signInId, key, (draft) => ({ ...draft, isBusy: false, rejection }));
    throw error;
  }
}

/** Returns the faults of a draft by field, or undefined if it has none. */
export function faultsOf({ text, file, sendAt, key }: Draft): Faults | undefined {
  if (text.trim() === '' && file === undefined) return { message: 'Enter a text or add a file.' };
  if (sendAt === undefined) return undefined;
  const time = new Date(sendAt).getTime();
  if (Number.isNaN(time)) return { sendAt: 'Choose a date and a time.' };
  // The time may have passed if the outcome of the last attempt is not known: the gateway may have stored the send.
  return time <= Date.now() && key === undefined ? { sendAt: 'Choose a time in the future.' } : undefined;
}

function bodyOf({ text, sendAt, phoneNumber }: Attempt): NewSend {
  return {
    phoneNumber,
    ...(text === '' ? {} : { message: text }),
    ...(sendAt === undefined ? {} : { sendAt: new Date(sendAt).toISOString() }),
  };
}

/** Returns the send as the gateway probably stored it, to be shown until it is read. */
function storedSend(id: string, body: NewSend, file: File | undefined): Send {
  const now = new Date().toISOString();
  return {
    id,
    status: typeof body.sendAt === 'string' ? 'scheduled' : 'queued',
    phoneNumber: body.phoneNumber,
    type: 'text',
    message: body.message ?? null,
    fileUrl: null,
    file:
      file === undefined ? null : { name: file.name, contentType: file.type, size: file.size, sha256: '' },
    reference: null,
    metadata: null,
    extraFields: {},
    createdAt: now,
    updatedAt: now,
    sendAt: body.sendAt ?? null,
    expiresAt: null,
    attempts: [],
    contactId: null,
    messageId: null,
    reason: null,
  };
}
