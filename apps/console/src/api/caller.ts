import { type Caller, Tidings } from '#client';
import { type Credential, headersOf } from '../sign-in/credential.js';

/** A right that an API key can have. */
export type Scope = Caller['scopes'][number];

/**
 * Returns the caller that a credential belongs to: its account and scopes.
 * @param marks headers that say whether the read counts as use of the session
 * @throws {TidingsError | TidingsConnectionError}
 */
export async function readCaller(
  credential: Credential,
  marks: Readonly<Record<string, string>>,
): Promise<Caller> {
  const headers = { ...headersOf(credential), ...marks };
  const client = new Tidings({ baseUrl: location.origin, headers, maxRetries: 1 });
  return (await client.call('GET', '/v1/caller')) as Caller;
}
