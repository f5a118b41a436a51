import type { CreatedApiKey } from '#client';

type State = ReadonlyMap<string, readonly CreatedApiKey[]>;

/**
 * API keys that were just created, and that the user has not stored yet. The gateway does not show them again. They
 * are kept until the tab is closed or reloaded, even after a session has ended.
 */
export class NewApiKeys {
  /** The keys by the id of the API key that is signed in. */
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

  /** Drops the keys that an API key created. Called when that API key is signed out. */
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
