import type { IncomingHttpHeaders } from 'node:http';
import { hasSessionTokenFormat, idAndHashOfSession } from '#accounts';

/** Header that every request of the web console has. Its value selects a session of the cookie. */
export const CONSOLE_HEADER = 'x-tidings-console';

/**
 * Header of a request that the web console sends by itself, not because of a user action, for example to update an
 * open page.
 */
export const UNATTENDED_HEADER = 'x-tidings-unattended';

/** The prefix `__Host-` makes browsers refuse the cookie unless it is Secure, for `/`, and for this host only. */
export const CONSOLE_COOKIE = '__Host-tidings';

/** Maximum number of sessions of one browser. */
export const MAX_SESSIONS_PER_BROWSER = 5;

const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';

/** Returns the tokens of the sessions in the cookie of a request. */
export function sessionTokensOf({ cookie = '' }: IncomingHttpHeaders): string[] {
  const pair = cookie
    .split(';')
    .map((text) => text.trim())
    .find((text) => text.startsWith(`${CONSOLE_COOKIE}=`));
  const tokens = pair?.slice(CONSOLE_COOKIE.length + 1).split('.', MAX_SESSIONS_PER_BROWSER) ?? [];
  return tokens.filter(hasSessionTokenFormat);
}

/** Returns the token of a session in the cookie of a request, or undefined if the cookie does not contain the session. */
export function sessionTokenOf(headers: IncomingHttpHeaders, id: string): string | undefined {
  return sessionTokensOf(headers).find((token) => idAndHashOfSession(token).id === id);
}

/** Returns the value of `Set-Cookie` that gives the browser these sessions, and no others. */
export function cookieOf(tokens: readonly string[]): string {
  const cookie = `${CONSOLE_COOKIE}=${tokens.join('.')}; ${ATTRIBUTES}`;
  return tokens.length === 0 ? `${cookie}; Max-Age=0` : cookie;
}
