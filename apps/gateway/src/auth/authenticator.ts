import type { IncomingHttpHeaders } from 'node:http';
import { type ApiKeys, hasTokenFormat, type Principal, type Tokens } from '#accounts';
import { Problem } from '../problems/problem.js';

/** What a caller authenticates with. */
interface Credential {
  kind: 'API key' | 'token';
  text: string;
}

const BEARER = /^Bearer +(\S+) *$/i;

/** Tells a client that the gateway accepts bearer tokens, and rejected this one (RFC 6750). */
const TOKEN_REJECTED = { 'www-authenticate': 'Bearer error="invalid_token"' };

export const CREDENTIAL_MISSING =
  'Send your API key in the X-API-Key header, or a token in the header Authorization: Bearer <token>.';

/** Authenticates callers by the API key or the token in the headers of their requests. */
export class Authenticator {
  constructor(
    private readonly keys: ApiKeys,
    private readonly tokens: Pick<Tokens, 'authenticate'>,
  ) {}

  /** Resolves to the caller. @throws {Problem} `unauthenticated` */
  async authenticate(headers: IncomingHttpHeaders): Promise<Principal> {
    const credential = credentialOf(headers);
    const caller = await this.find(credential);
    if (caller !== undefined) return caller;
    throw credential.kind === 'API key'
      ? new Problem('unauthenticated', 'Invalid API key.')
      : new Problem('unauthenticated', 'Invalid token: it has expired, was revoked, or never existed.', {
          headers: TOKEN_REJECTED,
        });
  }

  /** Resolves to the caller, or to undefined if the credential is missing or invalid. */
  async recheck(headers: IncomingHttpHeaders): Promise<Principal | undefined> {
    return await this.find(credentialOf(headers));
  }

  private find({ kind, text }: Credential): Promise<Principal | undefined> {
    return kind === 'API key' ? this.keys.authenticate(text) : this.tokens.authenticate(text);
  }
}

/**
 * Returns the credential of a request. Generated clients may send the same text in both headers. Beside an API key, a
 * bearer token that is not one of the gateway is ignored, because it is for somebody else, such as a proxy.
 * @throws {Problem} `unauthenticated` if there is no credential, or an API key and a token
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
  throw new Problem('unauthenticated', CREDENTIAL_MISSING);
}
