import { expect, it } from '@jest/globals';
import { type QueuedSend, TidingsConnectionError } from '#client';
import { type Attempt, attemptOf, changedDraft, EMPTY_DRAFT } from './draft.js';
import { KeptDrafts } from './kept-drafts.js';
import { sendDraft } from './send-draft.js';

const SENT: QueuedSend = { status: 'queued', message: 'queued', id: 'snd_1' };
/** What remains after a send: the phone number. */
const NEXT = { ...EMPTY_DRAFT, phoneNumber: '+15550001' };
const DRAFT = { ...EMPTY_DRAFT, text: 'Hello' };

/** A send of a draft whose reply has not arrived yet. */
interface Running {
  attempt: Attempt;
  succeed: () => Promise<void>;
  fail: (error: Error) => Promise<void>;
}

/** Begins to send a draft in a conversation. */
function begin(kept: KeptDrafts, conversationId: string): Running {
  const attempt = attemptOf(DRAFT, '+15550001');
  kept.keep('key_1', conversationId, attempt);
  let answer: (error?: Error) => void = () => undefined;
  const reply = new Promise<QueuedSend>((resolve, reject) => {
    answer = (error) => {
      if (error === undefined) resolve(SENT);
      else reject(error);
    };
  });
  const sending = sendDraft({ send: () => reply }, kept, 'key_1', attempt, NEXT);
  return {
    attempt,
    succeed: async (): Promise<void> => {
      answer();
      await sending;
    },
    fail: async (error: Error): Promise<void> => {
      answer(error);
      await expect(sending).rejects.toBe(error);
    },
  };
}

it('a draft stays busy during its send, and has the error and its idempotency key after a failure', async () => {
  const kept = new KeptDrafts();
  const { attempt, fail } = begin(kept, 'con_1');
  expect(kept.of('key_1', 'con_1').isBusy).toBe(true);
  const error = new TidingsConnectionError('lost');
  let changes = 0;
  kept.subscribe(() => (changes += 1));
  await fail(error);
  expect(kept.of('key_1', 'con_1')).toEqual({
    ...attempt,
    isBusy: false,
    rejection: { faults: {}, other: error },
  });
  expect(changes).toBe(1);
});

it('a draft that moved to the conversation of a contact during its send is emptied there, except for the phone number', async () => {
  const kept = new KeptDrafts();
  const { succeed } = begin(kept, '+15550001');
  kept.move('key_1', '+15550001', 'con_1');
  await succeed();
  expect(kept.of('key_1', 'con_1')).toBe(NEXT);
});

it('the end of a send changes neither a draft that has become another message nor a draft of another API key', async () => {
  const kept = new KeptDrafts();
  const { attempt, succeed } = begin(kept, 'con_1');
  const edited = changedDraft(attempt, { text: 'Hello again' });
  kept.keep('key_1', 'con_1', edited);
  kept.keep('key_11', 'con_1', attempt);
  await succeed();
  expect(kept.of('key_1', 'con_1')).toBe(edited);
  expect(kept.of('key_11', 'con_1')).toBe(attempt);
});
