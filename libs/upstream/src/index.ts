/**
 * Access to upstream: the messaging service and its HTTP API.
 *
 * | | |
 * |---|---|
 * | `upstream.ts` | the operations of upstream's API; the classes of errors are in `upstream-error.ts` |
 * | `http/`       | HTTP requests: connections, deadlines, limits of replies |
 * | `reply/`      | upstream's replies: tolerant parsing, and replies passed on unchanged |
 * | `budget/`     | the budget of upstream requests per second and the order of requests |
 * | `account/`    | the upstream of one account: its address, budget and outages |
 */
export { BudgetedUpstream, type PostToken } from './account/budgeted-upstream.js';
export { type RequestPurpose } from './account/budget-token-acquirer.js';
export { type FindUpstreamAccount, type UpstreamAccount } from './account/upstream-account.js';
export { type BudgetTokenRenewal } from './budget/budget-token-renewal.js';
export { FAILURES_UNTIL_BREAKER_OPENS } from './account/circuit-breaker.js';
export { phoneNumbersOf, type UpstreamContact } from './reply/contact.js';
export { type ContactList, type ContactReader, type RequestedContact } from './reply/contact-list.js';
export { GATEWAY_HEADER } from './http/gateway-header.js';
export { HttpUpstream } from './http/http-upstream.js';
export { type Direction, parseMessage, type UpstreamMessage } from './reply/message.js';
export { RedisRequestBudget } from './budget/redis-request-budget.js';
export { RedisRequestRateLimiter } from './budget/redis-request-rate-limiter.js';
export { type RequestRateLimiter } from './budget/request-rate-limiter.js';
export { type ParsedList } from './reply/reply-list.js';
export { type PollTokenSource } from './budget/poll-token-source.js';
export {
  parseContactsById,
  requireValidJson,
  normalizeListReply,
  replyPartToJson,
} from './reply/reply-text.js';
export {
  type AdaptiveBudget,
  BudgetExhaustedError,
  type BudgetUsage,
  MAX_BUDGET_TOKEN_RETRY_PAUSE_MS,
  MAX_POLL_TOKEN_RETRY_PAUSE_MS,
  type RequestBudget,
  type RequestClass,
  BUDGET_TOKEN_TTL_MS,
  type TokenAttempt,
} from './budget/request-budget.js';
export {
  isIncompleteReplyError,
  isMissingPageError,
  UpstreamConnectionLostError,
  UpstreamError,
  UpstreamIsTidingsError,
  TooManyLargeRepliesError,
  UpstreamReplyUnreadableError,
  UpstreamReplyTooLargeError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamRequestNotSentError,
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
export { hashUpstreamAddress } from './upstream-address-hash.js';
export {
  type Outage,
  OUTAGE_KINDS,
  type OutageKind,
  type ProbeTurn,
  type UnprobedRequest,
  type UpstreamHealth,
} from './account/upstream-health.js';
