/**
 * The credential of a request of the console. Over HTTPS, this is a session. Its secret is in a cookie that scripts
 * cannot read. Over plain HTTP, it is the API key itself, in the memory of the page.
 */
export type Credential = { kind: 'session'; id: string } | { kind: 'key'; key: string };

/** Header that selects a session of the cookie. Other sites cannot send it. */
export const CONSOLE_HEADER = 'X-Tidings-Console';

/** Returns the headers that authenticate a request. */
export function headersOf(credential: Credential): Record<string, string> {
  return credential.kind === 'key' ? { 'X-API-Key': credential.key } : { [CONSOLE_HEADER]: credential.id };
}
