import { Tidings, TidingsError } from '#client';
import { CONSOLE_HEADER } from './credential.js';

/** A session of this browser. Its secret is in a cookie that scripts cannot read. */
interface Session {
  id: string;
  /** Id of the API key that signed in. */
  keyId: string;
}

/** Value of {@link CONSOLE_HEADER} in requests that are not made with one of the sessions. */
const NO_SESSION = 'none';

/**
 * Creates a session for an API key, and returns its id. The session replaces an earlier session of this key.
 * @throws {TidingsError | TidingsConnectionError}
 */
export async function createSession(apiKey: string): Promise<string> {
  const session = await client({ 'X-API-Key': apiKey }).call('POST', '/console/sessions');
  return (session as Session).id;
}

/**
 * Returns the sessions of this browser that are still valid.
 * @throws {TidingsError | TidingsConnectionError}
 */
export async function listSessions(): Promise<readonly Session[]> {
  const { sessions } = (await client().call('GET', '/console/sessions')) as { sessions: Session[] };
  return sessions;
}

/**
 * Ends a session, unless it has ended before.
 * @throws {TidingsError | TidingsConnectionError}
 */
export async function endSession(id: string): Promise<void> {
  try {
    await client().call('DELETE', `/console/sessions/${encodeURIComponent(id)}`);
  } catch (error) {
    if (!(error instanceof TidingsError) || error.status !== 404) throw error;
  }
}

function client(headers: Record<string, string> = {}): Tidings {
  return new Tidings({
    baseUrl: location.origin,
    headers: { [CONSOLE_HEADER]: NO_SESSION, ...headers },
    maxRetries: 1,
  });
}
