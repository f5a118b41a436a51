export { AccountUpstream, type FindUpstreamAccount, type UpstreamAccount } from './account-upstream.js';
export { AWAY_AFTER } from './circuit.js';
export { phoneNumbersOf, type UpstreamContact } from './contact.js';
export { type ContactList, type ContactReader, type WantedContact } from './contact-list.js';
export { HttpUpstream } from './http-upstream.js';
export { type Direction, isRecord, parseMessage, type UpstreamMessage } from './message.js';
export { RedisRequestBudget } from './redis-request-budget.js';
export { type ParsedList } from './reply-list.js';
export { contactsShown, showAsIs, showList, toJson } from './shown-reply.js';
export {
  type AdaptiveBudget,
  BudgetExhaustedError,
  type RequestBudget,
  type RequestClass,
} from './request-budget.js';
export {
  UpstreamConnectionLostError,
  UpstreamError,
  UpstreamReplyDeferredError,
  UpstreamReplyError,
  UpstreamReplyTooLargeError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamTooLateError,
  UpstreamUnavailableError,
  UpstreamUnreachableError,
} from './upstream-error.js';
export {
  type MessagePage,
  type Upstream,
  type UpstreamAddress,
  type UpstreamFile,
  type UpstreamQuery,
  type UpstreamSend,
} from './upstream.js';
export { type Outage, type OutageKind, type ProbeTurn, type UpstreamHealth } from './upstream-health.js';
