import { type Draft, EMPTY_DRAFT, hasContent } from './draft.js';

/** Maximum number of drafts. */
const MAX_DRAFTS = 100;

/**
 * The drafts of the user. They are kept until the tab is closed or reloaded, even after a session has ended. If the
 * idempotency key of a draft were lost, its message could be sent twice.
 */
export class KeptDrafts {
  /** The drafts by API key and conversation. The draft that was changed last is at the end. */
  private readonly drafts = new Map<string, Draft>();
  private readonly listeners = new Set<() => void>();
  private changes = 0;

  /** Number of changes so far. */
  get snapshot(): number {
    return this.changes;
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /** @param signInId id of the API key that is signed in */
  of(signInId: string, conversationId: string): Draft {
    return this.drafts.get(keyOf(signInId, conversationId)) ?? EMPTY_DRAFT;
  }

  /**
   * Keeps a draft. If there are more than 100 drafts, drops the one that has been unchanged for the longest time.
   */
  keep(signInId: string, conversationId: string, draft: Draft): void {
    const key = keyOf(signInId, conversationId);
    this.drafts.delete(key);
    if (draft !== EMPTY_DRAFT) this.drafts.set(key, draft);
    const [oldest] = this.drafts.keys();
    if (this.drafts.size > MAX_DRAFTS && oldest !== undefined) this.drafts.delete(oldest);
    this.notify();
  }

  /**
   * Changes the draft of an attempt, in whichever conversation it is now. Does nothing if the draft has become
   * another message, or was dropped.
   * @param attemptKey idempotency key of the attempt
   */
  update(signInId: string, attemptKey: string, change: (draft: Draft) => Draft): void {
    for (const [key, draft] of this.drafts) {
      if (!key.startsWith(keyOf(signInId, '')) || draft.key !== attemptKey) continue;
      const changed = change(draft);
      if (changed === EMPTY_DRAFT) this.drafts.delete(key);
      else this.drafts.set(key, changed);
    }
    this.notify();
  }

  /**
   * Moves the draft of a phone number to the conversation of its contact. If both have a draft, the draft that was
   * changed last is moved to the contact, and the other one to the number. The other one is shown after the next
   * send. Listeners are not called, because the page moves drafts while it is rendered.
   */
  move(signInId: string, phoneNumber: string, conversationId: string): void {
    const [from, to] = [keyOf(signInId, phoneNumber), keyOf(signInId, conversationId)];
    const moved = this.drafts.get(from);
    if (moved === undefined) return;
    const other = this.drafts.get(to);
    const keys = [...this.drafts.keys()];
    const isOtherKept = other !== undefined && hasContent(other);
    if (isOtherKept && keys.indexOf(to) > keys.indexOf(from)) return;
    this.drafts.delete(from);
    this.drafts.delete(to);
    if (isOtherKept) this.drafts.set(from, other);
    this.drafts.set(to, { ...moved, phoneNumber: moved.phoneNumber ?? phoneNumber });
  }

  /** Drops the drafts of an API key that was signed out. */
  forget(signInId: string): void {
    for (const key of this.drafts.keys()) if (key.startsWith(keyOf(signInId, ''))) this.drafts.delete(key);
  }

  private notify(): void {
    this.changes += 1;
    for (const listener of this.listeners) listener();
  }
}

/** The drafts of the page. */
export const keptDrafts = new KeptDrafts();

function keyOf(signInId: string, conversationId: string): string {
  return `${signInId} ${conversationId}`;
}
