import type { SignIn } from '../sign-in/sign-ins.js';
import { type Draft, EMPTY_DRAFT } from './draft.js';

/** Maximum number of drafts of a sign-in. */
const MAX_DRAFTS = 100;

/** They last as long as the sign-in, also while the reader is on other pages. */
const drafts = new WeakMap<SignIn, Map<string, Draft>>();

/** Returns what the reader was writing in a conversation. */
export function draftOf(signIn: SignIn, conversation: string): Draft {
  return drafts.get(signIn)?.get(conversation) ?? EMPTY_DRAFT;
}

/** Keeps what the reader is writing in a conversation. Above 100 drafts, the one unchanged for longest is dropped. */
export function keepDraft(signIn: SignIn, conversation: string, draft: Draft): void {
  const kept = drafts.get(signIn) ?? new Map<string, Draft>();
  drafts.set(signIn, kept);
  kept.delete(conversation);
  if (draft !== EMPTY_DRAFT) kept.set(conversation, draft);
  const [oldest] = kept.keys();
  if (kept.size > MAX_DRAFTS && oldest !== undefined) kept.delete(oldest);
}
