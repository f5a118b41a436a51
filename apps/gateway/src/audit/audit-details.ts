import type { FastifyRequest } from 'fastify';

/** What only the handler of an audited action knows about it. */
export interface AuditDetails {
  /** Account that the action affected. Its audit log gets the entry too, if the caller is of another account. */
  account?: string;
  /** Ids of the objects of an action on several objects. An empty list means that nothing changed: nothing is recorded. */
  subjects?: readonly string[];
}

const details = new WeakMap<FastifyRequest, AuditDetails>();

/** Adds details to the audit entry of a request. Nothing is recorded if the handler fails afterwards. */
export function describeAudit(request: FastifyRequest, given: AuditDetails): void {
  details.set(request, given);
}

export function auditDetailsOf(request: FastifyRequest): AuditDetails {
  return details.get(request) ?? {};
}
