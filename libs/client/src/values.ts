import type { Event, Send } from './api-types.js';

/**
 * Every status of a send: first the statuses of a send that succeeds, in their order, then the others. If a status is
 * missing, or the API does not have it, TypeScript reports an error.
 */
const IS_SEND_STATUS = {
  scheduled: true,
  queued: true,
  relaying: true,
  accepted: true,
  sent: true,
  delivered: true,
  read: true,
  unknown: true,
  failed: true,
  expired: true,
  cancelled: true,
} satisfies Record<Send['status'], true>;

/** Every event type. If a type is missing, or the API does not have it, TypeScript reports an error. */
const IS_EVENT_TYPE = {
  'message.received': true,
  'message.sent': true,
  'message.created': true,
  'message.delivered': true,
  'message.read': true,
  'message.updated': true,
  'message.deleted': true,
  'contact.created': true,
  'contact.updated': true,
  'contact.deleted': true,
  'contact.resynced': true,
  'send.accepted': true,
  'send.unconfirmed': true,
  'send.sent': true,
  'send.failed': true,
  'send.unknown': true,
  'send.cancelled': true,
  'send.expired': true,
  'upstream.unavailable': true,
  'upstream.recovered': true,
  'account.suspect': true,
  'webhook.disabled': true,
  'webhook.test': true,
} satisfies Record<Event['type'], true>;

/** Every status of a send: first the statuses of a send that succeeds, in their order, then the others. */
export const SEND_STATUSES = Object.keys(IS_SEND_STATUS) as readonly Send['status'][];

/** The types of all stored events. A newer gateway may emit events of further types. */
export const EVENT_TYPES = Object.keys(IS_EVENT_TYPE) as readonly Event['type'][];
