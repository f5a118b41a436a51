import type { SecretCipher } from '#accounts';
import type { Endpoint } from './endpoint.js';

/** A webhook's signing secret in its stored, encrypted form. */
export interface StoredSecret {
  /** The secret, encrypted by a `SecretCipher` with the endpoint's id as context. */
  sealed: string;
  /** Time at which the secret expires, in milliseconds since 1970, or null if it does not expire. */
  expiresAt: number | null;
}

/** An endpoint as stored, with properties that callers do not see. */
export interface StoredEndpoint extends Omit<Endpoint, 'headers'> {
  secrets: readonly StoredSecret[];
  /**
   * The headers configured for the endpoint, as encrypted JSON because they may contain credentials. Null if there are
   * none.
   */
  sealedHeaders: string | null;
  /**
   * 1 for a new endpoint; increases by one with each change. The event `webhook.disabled` has the revision of the
   * endpoint that was disabled.
   */
  revision: number;
}

/** The properties of an endpoint that are needed to deliver events. */
export type EndpointForDelivery = Omit<StoredEndpoint, 'eventTypes' | 'contactIds' | 'description'>;

/**
 * Returns the endpoint in the form that events contain. Leaves out its configured headers, because other webhooks
 * receive these events.
 */
export function toPublicEndpoint(stored: StoredEndpoint): Omit<Endpoint, 'headers'> {
  const { id, url, eventTypes, contactIds, description, maxConcurrency, rateLimitPerSecond, ordered } =
    stored;
  const { enabled, disabledReason, createdAt, updatedAt } = stored;
  return {
    ...{ id, url, eventTypes, contactIds, description, maxConcurrency, rateLimitPerSecond, ordered },
    ...{ enabled, disabledReason, createdAt, updatedAt },
  };
}

/** Encrypts the headers configured for an endpoint. Returns null if there are none. */
export function encryptHeaders(
  headers: Readonly<Record<string, string>>,
  endpointId: string,
  cipher: SecretCipher,
): string | null {
  if (Object.keys(headers).length === 0) return null;
  return cipher.encrypt(JSON.stringify(headers), encryptionContextOfHeaders(endpointId));
}

/**
 * Decrypts the headers configured for an endpoint.
 * @throws {SecretDecryptionError} if no known key decrypts the headers
 */
export function decryptHeaders(
  { id, sealedHeaders }: Pick<StoredEndpoint, 'id' | 'sealedHeaders'>,
  cipher: SecretCipher,
): Record<string, string> {
  if (sealedHeaders === null) return {};
  return JSON.parse(cipher.decrypt(sealedHeaders, encryptionContextOfHeaders(id))) as Record<string, string>;
}

/** Returns the secrets that are valid at the time `now` (milliseconds since 1970), in encrypted form. */
export function signingSecretsValidAt({ secrets }: Pick<StoredEndpoint, 'secrets'>, now: number): string[] {
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ sealed }) => sealed);
}

/** Parses a stored endpoint. Adds defaults for fields that older versions of the software did not store. */
export function parseEndpoint(text: string): StoredEndpoint {
  return { ...DEFAULTS, ...(JSON.parse(text) as StoredEndpoint) };
}

/**
 * Parses a stored endpoint from the reply of a script. Scripts leave out `contactIds`, which may be long and which no
 * delivery needs.
 */
export function parseEndpointForDelivery(text: string): EndpointForDelivery {
  return parseEndpoint(text);
}

/** Serializes an endpoint for storage. */
export function serializeEndpoint(stored: StoredEndpoint): string {
  return JSON.stringify(stored);
}

/** The fields that every version of the software stored. */
type FirstStored =
  | ('id' | 'url' | 'eventTypes' | 'contactIds' | 'description' | 'enabled' | 'disabledReason')
  | ('createdAt' | 'updatedAt' | 'secrets' | 'revision');

/** Defaults for fields that older versions of the software did not store. */
const DEFAULTS = {
  sealedHeaders: null,
  maxConcurrency: null,
  rateLimitPerSecond: null,
  ordered: false,
} satisfies Omit<StoredEndpoint, FirstStored>;

/**
 * Returns the encryption context of an endpoint's headers. An encrypted text can be decrypted only with the context
 * with which it was encrypted.
 */
export function encryptionContextOfHeaders(endpointId: string): string {
  return `${endpointId}/headers`;
}
