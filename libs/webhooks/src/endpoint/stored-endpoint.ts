import type { SecretBox } from '#accounts';
import type { Endpoint } from './endpoint.js';

/** A signing secret at rest. */
export interface StoredSecret {
  /** By a SecretBox, with the endpoint's id as its context. */
  sealed: string;
  /** Until when it signs, in ms since 1970; null for as long as it is there. */
  expiresAt: number | null;
}

/** An endpoint as it is kept, with what subscribers are not shown. */
export interface StoredEndpoint extends Omit<Endpoint, 'headers'> {
  secrets: readonly StoredSecret[];
  /** Its own headers as JSON, sealed, since they may hold credentials; null where it has none. */
  sealedHeaders: string | null;
  /** Counts the changes of the endpoint: the revision of the events about it. */
  revision: number;
}

/** What deliveries need of an endpoint. */
export type DeliveryTarget = Omit<StoredEndpoint, 'eventTypes' | 'contactIds' | 'description'>;

/** The endpoint as events tell of it: other subscribers hear them, so that its own headers are left out. */
export function publicPart(stored: StoredEndpoint): Omit<Endpoint, 'headers'> {
  const { id, url, eventTypes, contactIds, description, maxConcurrency, rateLimitPerSecond, ordered } =
    stored;
  const { enabled, disabledReason, createdAt, updatedAt } = stored;
  return {
    ...{ id, url, eventTypes, contactIds, description, maxConcurrency, rateLimitPerSecond, ordered },
    ...{ enabled, disabledReason, createdAt, updatedAt },
  };
}

/** What {@link openHeaders} opens. */
export function sealHeaders(
  headers: Readonly<Record<string, string>>,
  endpointId: string,
  box: SecretBox,
): string | null {
  if (Object.keys(headers).length === 0) return null;
  return box.seal(JSON.stringify(headers), headersContext(endpointId));
}

/**
 * The endpoint's own headers.
 * @throws {SealBrokenError}
 */
export function openHeaders(
  { id, sealedHeaders }: Pick<StoredEndpoint, 'id' | 'sealedHeaders'>,
  box: SecretBox,
): Record<string, string> {
  if (sealedHeaders === null) return {};
  return JSON.parse(box.open(sealedHeaders, headersContext(id))) as Record<string, string>;
}

/** The sealed secrets that sign at a time, in ms since 1970. */
export function secretsAt({ secrets }: Pick<StoredEndpoint, 'secrets'>, now: number): string[] {
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ sealed }) => sealed);
}

/** Reads what {@link writeEndpoint} wrote. */
export function readEndpoint(text: string): StoredEndpoint {
  return { ...FIRST_FORM, ...(JSON.parse(text) as StoredEndpoint) };
}

/** Reads what scripts answer of an endpoint: without the ids of contacts that it asks for. */
export function readTarget(text: string): DeliveryTarget {
  return readEndpoint(text);
}

export function writeEndpoint(stored: StoredEndpoint): string {
  return JSON.stringify(stored);
}

/** What endpoints that were stored before these fields lack. */
const FIRST_FORM = {
  sealedHeaders: null,
  maxConcurrency: null,
  rateLimitPerSecond: null,
  ordered: false,
} satisfies Partial<StoredEndpoint>;

/** What an endpoint's headers are sealed for: a sealed text opens as nothing else. */
export function headersContext(endpointId: string): string {
  return `${endpointId}/headers`;
}
