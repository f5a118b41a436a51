import type { FastifyRequest } from 'fastify';

/** Details of an audited action that only the handler of the action knows. */
export interface AuditDetails {
  /**
   * Account that the action affected. If the caller belongs to another account, the audit log of the affected account
   * gets the entry too.
   */
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
