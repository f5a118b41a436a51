import type { Endpoint } from './endpoint.js';

/** A signing secret at rest. */
export interface StoredSecret {
  /** By a SecretBox, with the endpoint's id as its context. */
  sealed: string;
  /** Until when it signs, in ms since 1970; null for as long as it is there. */
  expiresAt: number | null;
}

/** An endpoint as it is kept, with what subscribers are not shown. */
export interface StoredEndpoint extends Endpoint {
  secrets: readonly StoredSecret[];
  /** Counts the changes of the endpoint: the revision of the events about it. */
  revision: number;
}

/** The endpoint as subscribers see it. */
export function publicPart(stored: StoredEndpoint): Endpoint {
  const { id, url, eventTypes, contactIds, description, enabled, disabledReason, createdAt, updatedAt } =
    stored;
  return { id, url, eventTypes, contactIds, description, enabled, disabledReason, createdAt, updatedAt };
}

/** The sealed secrets that sign at a time, in ms since 1970. */
export function secretsAt({ secrets }: StoredEndpoint, now: number): string[] {
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).map(({ sealed }) => sealed);
}

/** Reads what {@link writeEndpoint} wrote. */
export function readEndpoint(text: string): StoredEndpoint {
  return JSON.parse(text) as StoredEndpoint;
}

export function writeEndpoint(stored: StoredEndpoint): string {
  return JSON.stringify(stored);
}
