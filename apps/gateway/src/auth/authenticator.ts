import type { IncomingHttpHeaders } from 'node:http';
import {
  type ApiKeyAuthenticator,
  hasTokenFormat,
  type Principal,
  type SessionService,
  type TokenService,
} from '#accounts';
import { Problem } from '../problems/problem.js';
import { CONSOLE_COOKIE, CONSOLE_HEADER, sessionTokenOf, UNATTENDED_HEADER } from './console-cookie.js';
import { isSameOrigin } from './same-origin.js';

/** What a caller authenticates with. */
interface Credential {
  kind: 'API key' | 'token' | 'session';
  text: string;
}

const BEARER = /^Bearer +(\S+) *$/i;

/**
 * Response header that says that the gateway accepts bearer tokens and that the token of the request is invalid (RFC
 * 6750).
 */
export const INVALID_TOKEN_HEADERS = { 'www-authenticate': 'Bearer error="invalid_token"' };

export const CREDENTIAL_MISSING =
  'Send your API key in the X-API-Key header, or a token in the header Authorization: Bearer <token>.';

const SESSION_ENDED = 'The session has ended. Sign in again.';

const NOT_SAME_ORIGIN = `The cookie ${CONSOLE_COOKIE} is accepted only from pages of the gateway itself. A proxy in front of the gateway must pass on the Host header.`;

/** Authenticates callers by the API key, the token or the session in the headers of their requests. */
export class Authenticator {
  constructor(
    private readonly keys: ApiKeyAuthenticator,
    private readonly tokens: Pick<TokenService, 'authenticate'>,
    private readonly sessions: Pick<SessionService, 'authenticate' | 'find'>,
  ) {}

  /**
   * Resolves to the caller of a new request. The request extends the idle time of a session, unless the web console
   * sent the request by itself; see {@link UNATTENDED_HEADER}.
   * @throws {Problem} `unauthenticated`
   */
  async authenticate(headers: IncomingHttpHeaders): Promise<Principal> {
    const { kind, text } = credentialOf(headers);
    const isUnattended = headers[UNATTENDED_HEADER] !== undefined;
    const caller = await (kind !== 'session'
      ? this.find(kind, text)
      : isUnattended
        ? this.callerOfSession(text)
        : this.sessions.authenticate(text));
    if (caller !== undefined) return caller;
    switch (kind) {
      case 'API key':
        throw new Problem('unauthenticated', 'Invalid API key.');
      case 'session':
        throw new Problem('unauthenticated', SESSION_ENDED);
      case 'token':
        throw new Problem(
          'unauthenticated',
          'Invalid token: it has expired, was revoked, or never existed. An API key belongs in the header X-API-Key.',
          { headers: INVALID_TOKEN_HEADERS },
        );
    }
  }

  /**
   * Resolves to the caller, or to undefined if the credential is missing or invalid. This does not extend the idle time of
   * a session, so an open stream keeps no session alive.
   */
  async recheck(headers: IncomingHttpHeaders): Promise<Principal | undefined> {
    const { kind, text } = credentialOf(headers);
    return await (kind === 'session' ? this.callerOfSession(text) : this.find(kind, text));
  }

  private find(kind: 'API key' | 'token', text: string): Promise<Principal | undefined> {
    return kind === 'API key' ? this.keys.authenticate(text) : this.tokens.authenticate(text);
  }

  private async callerOfSession(token: string): Promise<Principal | undefined> {
    return (await this.sessions.find(token))?.caller;
  }
}

/**
 * Returns the credential of a request. Generated clients may send the same text in both headers. If the request has
 * an API key, a bearer token that does not have the format of the gateway is ignored, because it is probably for a
 * proxy.
 * @throws {Problem} `unauthenticated` if the request has no credential, or both an API key and a token
 */
function credentialOf(headers: IncomingHttpHeaders): Credential {
  const key = headers['x-api-key'];
  const [, token] = BEARER.exec(headers.authorization ?? '') ?? [];
  const hasKey = typeof key === 'string' && key !== '';
  if (hasKey && token !== undefined && hasTokenFormat(token)) {
    if (token === key) return { kind: 'token', text: token };
    const detail =
      'Send either an API key in the X-API-Key header or a token in the Authorization header, not both.';
    throw new Problem('unauthenticated', detail, { headers: { 'www-authenticate': 'Bearer' } });
  }
  if (hasKey) return { kind: 'API key', text: key };
  if (token !== undefined) return { kind: 'token', text: token };
  const session = key === undefined ? sessionOf(headers) : undefined;
  if (session !== undefined) return session;
  throw new Problem('unauthenticated', CREDENTIAL_MISSING);
}

/**
 * Returns the session that a request of the web console selects, or undefined for any other request: a browser sends the
 * cookie by itself, so the cookie alone is no credential.
 * @throws {Problem} `unauthenticated` if another page sent the request, or the cookie does not contain the session
 */
function sessionOf(headers: IncomingHttpHeaders): Credential | undefined {
  const id = headers[CONSOLE_HEADER];
  if (typeof id !== 'string') return undefined;
  if (!isSameOrigin(headers)) throw new Problem('unauthenticated', NOT_SAME_ORIGIN);
  const text = sessionTokenOf(headers, id);
  if (text === undefined) throw new Problem('unauthenticated', SESSION_ENDED);
  return { kind: 'session', text };
}
