export {
  AccountUpstream,
  type FindUpstreamAccount,
  type RequestFor,
  type UpstreamAccount,
} from './account-upstream.js';
export { type Admission } from './admission.js';
export { AWAY_AFTER } from './circuit.js';
export { phoneNumbersOf, type UpstreamContact } from './contact.js';
export { type ContactList, type ContactReader, type WantedContact } from './contact-list.js';
export { GATEWAY_MARK } from './gateway-mark.js';
export { HttpUpstream } from './http-upstream.js';
export { type Direction, isRecord, parseMessage, type UpstreamMessage } from './message.js';
export { RedisRequestBudget } from './redis-request-budget.js';
export { TAKE_TOKEN } from './redis-token-bucket.js';
export { type ParsedList } from './reply-list.js';
export { type RequestTurn } from './request-turn.js';
export { contactsShown, showAsIs, showList, toJson } from './shown-reply.js';
export {
  type AdaptiveBudget,
  BudgetExhaustedError,
  type BudgetUsage,
  MAX_PAUSE_MS,
  type RequestBudget,
  type RequestClass,
  TOKEN_LIFE_MS,
  type TokenReply,
} from './request-budget.js';
export {
  UpstreamConnectionLostError,
  UpstreamError,
  UpstreamIsGatewayError,
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
export { upstreamStamp } from './upstream-stamp.js';
export {
  type Outage,
  OUTAGE_KINDS,
  type OutageKind,
  type ProbeTurn,
  type UpstreamHealth,
} from './upstream-health.js';
