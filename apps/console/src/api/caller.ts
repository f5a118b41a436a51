import { type Caller, Tidings } from '#client';
import { type Credential, headersOf } from '../sign-in/credential.js';

/** What an API key may permit. */
export type Scope = Caller['scopes'][number];

/**
 * Returns who a credential belongs to.
 * @throws {TidingsError | TidingsConnectionError}
 */
export async function readCaller(credential: Credential): Promise<Caller> {
  const client = new Tidings({ baseUrl: location.origin, headers: headersOf(credential), maxRetries: 1 });
  return (await client.call('GET', '/v1/caller')) as Caller;
}
