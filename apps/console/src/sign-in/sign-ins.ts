import type { Caller } from '#client';
import { readCaller } from '../api/caller.js';
import { UNATTENDED } from './attention.js';
import type { Credential } from './credential.js';
import { createSession, endSession, listSessions } from './sessions.js';

/** An API key that is signed in. */
export interface SignIn {
  /** Distinguishes the sign-ins of the page: the id of the API key. */
  id: string;
  credential: Credential;
  caller: Caller;
}

/** The sign-ins of the page, of which one is in use. */
export interface SignInState {
  /** False until the sessions of the browser are read. */
  isRestored: boolean;
  all: readonly SignIn[];
  current: SignIn | undefined;
  /** Text for the user that says why the last sign-in ended by itself. */
  endedBecause: string | undefined;
}

/**
 * Name of the setting that remembers which sign-in is in use. It is an id, not a secret. Each tab of the browser has
 * its own value. A new tab begins with the value of the tab that was used last.
 */
const CURRENT = 'tidings.console.current';

/** Name of the setting that remembers the account that the address of the page belongs to. Each tab has its own. */
const ACCOUNT = 'tidings.console.account';

/** True if a session can be kept: browsers accept its cookie over HTTPS only. */
const KEEPS_SESSIONS = location.protocol === 'https:';

/** Text for the user: why the sign-in that was in use is not restored. */
const UNREAD = 'The gateway did not confirm your sign-in. Reload the page to try again.';
const ENDED = 'The last sign-in has ended. Sign in again, or continue with another API key.';

/** Signs API keys in and out, and switches between them. */
export class SignIns {
  private state: SignInState = {
    isRestored: !KEEPS_SESSIONS,
    all: [],
    current: undefined,
    endedBecause: undefined,
  };
  private readonly listeners = new Set<() => void>();

  get snapshot(): SignInState {
    return this.state;
  }

  /** Calls the listener after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /**
   * Reads the sessions that the browser still has. If the gateway does not answer, the page shows the sign-in form
   * with the reason.
   */
  async restore(): Promise<void> {
    if (!KEEPS_SESSIONS) return;
    const wanted = sessionStorage.getItem(CURRENT) ?? localStorage.getItem(CURRENT);
    const listed = await listSessions().catch(() => undefined);
    const sessions = listed ?? [];
    const found = await Promise.all(
      sessions.map(({ id, keyId }) =>
        // A reload does not count as use of the other sessions. Otherwise they would never end by themselves.
        signInOf({ kind: 'session', id }, keyId === wanted ? {} : UNATTENDED).catch(() => undefined),
      ),
    );
    const all = found.filter((signIn) => signIn !== undefined);
    // If the sign-in that was in use has ended, no other one is used: the user could act on another account
    // unnoticed.
    const current = wanted === null ? all[0] : all.find(({ id }) => id === wanted);
    const isUnread =
      wanted !== null &&
      (listed === undefined || sessions.some(({ keyId }, i) => keyId === wanted && found[i] === undefined));
    const hasEnded = current === undefined && all.length > 0;
    this.set({
      isRestored: true,
      all,
      current,
      endedBecause: isUnread ? UNREAD : hasEnded ? ENDED : undefined,
    });
  }

  /**
   * Signs an API key in, and uses it.
   * @param onOtherAccount called before the sign-in is used, if the page showed another account; the address of the
   * page has no meaning then
   * @throws {TidingsError | TidingsConnectionError} if the gateway rejects the key or cannot be reached
   */
  async signIn(key: string, onOtherAccount: () => void): Promise<void> {
    const credential: Credential = KEEPS_SESSIONS
      ? { kind: 'session', id: await createSession(key) }
      : { kind: 'key', key };
    const signIn = await signInOf(credential, {}).catch(async (error: unknown) => {
      // Without this, a reload would be signed in although the form showed an error.
      if (credential.kind === 'session') await endSession(credential.id).catch(() => undefined);
      throw error;
    });
    const shown = sessionStorage.getItem(ACCOUNT);
    if (shown !== null && shown !== signIn.caller.account) onOtherAccount();
    const others = this.state.all.filter(({ id }) => id !== signIn.id);
    this.set({ all: [...others, signIn], current: signIn, endedBecause: undefined });
  }

  /** Uses another sign-in of the page. */
  switchTo(id: string): void {
    const current = this.state.all.find((signIn) => signIn.id === id);
    if (current !== undefined) this.set({ current });
  }

  /**
   * Signs the current API key out. Returns false if the user has switched to another API key in the meantime. That
   * API key stays in use.
   * @throws {TidingsError | TidingsConnectionError} if the session could not be ended; the API key then stays signed
   * in
   */
  async signOut(): Promise<boolean> {
    const signedOut = this.state.current;
    if (signedOut === undefined) return false;
    if (signedOut.credential.kind === 'session') await endSession(signedOut.credential.id);
    const { current } = this.state;
    const all = this.state.all.filter((signIn) => signIn !== signedOut);
    if (current !== undefined && current !== signedOut) {
      this.set({ all });
      return false;
    }
    sessionStorage.removeItem(ACCOUNT);
    this.set({ all, current: all[0], endedBecause: undefined });
    return true;
  }

  /** Removes a sign-in whose credential the gateway no longer accepts. The user chooses another one. */
  end(ended: SignIn, because: string): void {
    if (!this.state.all.includes(ended)) return;
    const { current } = this.state;
    this.set({
      all: this.state.all.filter((signIn) => signIn !== ended),
      ...(current === ended ? { current: undefined, endedBecause: because } : {}),
    });
  }

  private set(change: Partial<SignInState>): void {
    this.state = { ...this.state, ...change };
    const { current } = this.state;
    if (current !== undefined) {
      sessionStorage.setItem(CURRENT, current.id);
      localStorage.setItem(CURRENT, current.id);
      sessionStorage.setItem(ACCOUNT, current.caller.account);
    }
    for (const listener of this.listeners) listener();
  }
}

async function signInOf(credential: Credential, marks: Readonly<Record<string, string>>): Promise<SignIn> {
  const caller = await readCaller(credential, marks);
  return { id: caller.keyId, credential, caller };
}
