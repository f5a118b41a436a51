import type { SecretBox } from '#accounts';
import type { Endpoint } from './endpoint.js';

/** A signing secret as stored. */
export interface StoredSecret {
  /** The secret, encrypted by a SecretBox with the endpoint's id as context. */
  sealed: string;
  /** When the secret stops signing, in milliseconds since 1970, or null if it does not expire. */
  expiresAt: number | null;
}

/** An endpoint as stored, with properties that callers do not see. */
export interface StoredEndpoint extends Omit<Endpoint, 'headers'> {
  secrets: readonly StoredSecret[];
  /** The endpoint's own headers as encrypted JSON, since they may hold credentials. Null without own headers. */
  sealedHeaders: string | null;
  /** Number of changes of the endpoint. Becomes the revision of events about the endpoint. */
  revision: number;
}

/** The properties of an endpoint that a delivery needs. */
export type DeliveryTarget = Omit<StoredEndpoint, 'eventTypes' | 'contactIds' | 'description'>;

/** Returns the endpoint as shown in events. Omits its own headers, because other webhooks receive these events. */
export function publicEndpoint(stored: StoredEndpoint): Omit<Endpoint, 'headers'> {
  const { id, url, eventTypes, contactIds, description, maxConcurrency, rateLimitPerSecond, ordered } =
    stored;
  const { enabled, disabledReason, createdAt, updatedAt } = stored;
  return {
    ...{ id, url, eventTypes, contactIds, description, maxConcurrency, rateLimitPerSecond, ordered },
    ...{ enabled, disabledReason, createdAt, updatedAt },
  };
}

/** Encrypts an endpoint's own headers. Returns null if there are none. */
export function sealHeaders(
  headers: Readonly<Record<string, string>>,
  endpointId: string,
  box: SecretBox,
): string | null {
  if (Object.keys(headers).length === 0) return null;
  return box.seal(JSON.stringify(headers), headersContext(endpointId));
}

/**
 * Decrypts an endpoint's own headers.
 * @throws {SecretDecryptionError} if no known key decrypts the headers
 */
export function openHeaders(
  { id, sealedHeaders }: Pick<StoredEndpoint, 'id' | 'sealedHeaders'>,
  box: SecretBox,
): Record<string, string> {
  if (sealedHeaders === null) return {};
  return JSON.parse(box.open(sealedHeaders, headersContext(id))) as Record<string, string>;
}

/** Returns the encrypted secrets that sign at `now`, in milliseconds since 1970. */
export function validSecretsAt({ secrets }: Pick<StoredEndpoint, 'secrets'>, now: number): string[] {
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ sealed }) => sealed);
}

/** Parses a stored endpoint. Adds the defaults of fields that older builds did not store. */
export function parseEndpoint(text: string): StoredEndpoint {
  return { ...DEFAULTS, ...(JSON.parse(text) as StoredEndpoint) };
}

/** Parses an endpoint that a script returned without its filter. */
export function parseDeliveryTarget(text: string): DeliveryTarget {
  return parseEndpoint(text);
}

/** Serializes an endpoint for storage. */
export function serializeEndpoint(stored: StoredEndpoint): string {
  return JSON.stringify(stored);
}

/** Defaults of the fields that older builds did not store. */
const DEFAULTS = {
  sealedHeaders: null,
  maxConcurrency: null,
  rateLimitPerSecond: null,
  ordered: false,
} satisfies Partial<StoredEndpoint>;

/**
 * Returns the encryption context of an endpoint's headers. A ciphertext decrypts only with the context it was made for.
 */
export function headersContext(endpointId: string): string {
  return `${endpointId}/headers`;
}
