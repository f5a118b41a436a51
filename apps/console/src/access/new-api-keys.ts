import type { CreatedApiKey } from '#client';

type State = ReadonlyMap<string, readonly CreatedApiKey[]>;

/**
 * API keys that the reader has not stored yet, for as long as the page is open: also on other pages, and after a session
 * has ended. The gateway does not show them again.
 */
export class NewApiKeys {
  /** By sign-in. */
  private state: State = new Map();
  private readonly listeners = new Set<() => void>();

  get snapshot(): State {
    return this.state;
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /** @param signInId id of the API key that is signed in */
  of(signInId: string): readonly CreatedApiKey[] {
    return this.state.get(signInId) ?? [];
  }

  add(signInId: string, key: CreatedApiKey): void {
    this.set(signInId, [...this.of(signInId), key]);
  }

  remove(signInId: string, id: string): void {
    this.set(
      signInId,
      this.of(signInId).filter((key) => key.id !== id),
    );
  }

  /** Drops those that an API key created, which was signed out. */
  forget(signInId: string): void {
    this.set(signInId, []);
  }

  private set(signInId: string, keys: readonly CreatedApiKey[]): void {
    this.state = new Map(this.state).set(signInId, keys);
    for (const listener of this.listeners) listener();
  }
}

/** The new API keys of the page. */
export const newApiKeys = new NewApiKeys();
