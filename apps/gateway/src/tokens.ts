/** Injection tokens. `bindings.ts` binds each token to a provider. */
export const ENVIRONMENT = Symbol('GatewayEnvironment');
export const LOGGER = Symbol('Logger');
/** Name, version and start time of this process. */
export const INSTANCE = Symbol('ProcessInstance');
export const REDIS = Symbol('RedisClient');
/** Serves callers' reads of contacts and messages from upstream. */
export const ACCOUNT_UPSTREAM = Symbol('BudgetedUpstream');
/** Limits the share of the budget that reads of callers with tokens may use. */
export const TOKEN_READ_LIMITER = Symbol('RequestRateLimiter of token reads');
/** Reports changes of conversations and sends as they happen. */
export const CONVERSATION_CHANGES = Symbol('ConversationChanges');
/** Reads the rows of conversations. */
export const CONVERSATIONS = Symbol('Conversations');
/** Finds accounts together with their upstream API keys. Fails if such a key cannot be decrypted. */
export const ACCOUNTS = Symbol('AccountDirectory');
/** Finds and changes the settings of accounts, without the upstream API keys. */
export const ACCOUNT_REGISTRY = Symbol('AccountRegistry');
export const API_KEY_REGISTRY = Symbol('ApiKeyRegistry');
export const API_KEYS = Symbol('ApiKeys');
/** Stores who did what in each account. */
export const AUDIT_LOG = Symbol('AuditLog');
/** Stores when each API key was last used. */
export const API_KEY_USES = Symbol('ApiKeyUses');
/** Authenticates callers by API keys, tokens and sessions. */
export const AUTHENTICATOR = Symbol('Authenticator');
/** Reads how many sends and deliveries of an account wait. */
export const BACKLOG = Symbol('ReadBacklog');
export const BLOB_STORE = Symbol('BlobStore');
/** Checks regularly that the blob store is usable. */
export const BLOB_STORE_MONITOR = Symbol('BlobStoreMonitor');
/** Reports the use of each account's request budget. */
export const BUDGET_WATCH = Symbol('BudgetWatch');
/** Redis time, estimated without a round trip. */
export const CLOCK = Symbol('Clock');
export const DELIVERIES = Symbol('Deliveries');
export const DELIVERIES_WATCH = Symbol('DeliveriesWatch');
export const ENDPOINT_HEALTH = Symbol('EndpointHealthReader');
export const ENDPOINT_REGISTRY = Symbol('EndpointRegistry');
export const ENDPOINT_SECRET_MANAGER = Symbol('EndpointSecretManager');
export const ENDPOINT_TEST = Symbol('TestEventSender');
export const EVENT_LOG = Symbol('EventLog');
export const EVENT_LOG_NOTIFIER = Symbol('EventLogNotifier');
/** Limits and intervals of long polls and event streams. */
export const EVENT_WAITS = Symbol('WaitSettings');
export const FEED = Symbol('FeedStore');
/** The metrics of this process. */
export const METRICS = Symbol('PromMetrics');
/** Maximum age of a result of the readiness check that is used again, in milliseconds. */
export const READINESS_MAX_AGE_MS = Symbol('ReadinessMaxAgeMs');
/** Limits how many requests each API key may make per minute. */
export const RATE_LIMIT = Symbol('RateLimit');
export const REPLAYS = Symbol('Replays');
export const REQUESTED_DELIVERIES = Symbol('RequestedDeliveries');
/** The recent revocations of tokens, sessions and API keys. */
export const REVOCATIONS = Symbol('Revocations');
export const REQUEST_BUDGET = Symbol('RequestBudget');
/** Creates, authenticates and ends sessions of the web console. */
export const SESSIONS = Symbol('Sessions');
export const SEND_LIST = Symbol('SendList');
export const SEND_SERVICE = Symbol('SendService');
/** AbortSignal that aborts when the gateway begins to shut down. */
export const SHUTDOWN = Symbol('AbortSignal');
/** The counts of each account by minute. */
export const STATS = Symbol('StatsStore');
/** Limits how many requests each token may make per minute. */
export const TOKEN_RATE_LIMIT = Symbol('TokenRateLimit');
/** Creates, authenticates and revokes tokens of browsers. */
export const TOKENS = Symbol('Tokens');
export const TIMELINE = Symbol('Timeline');
export const UPSTREAM = Symbol('Upstream');
export const UPSTREAM_HEALTH = Symbol('UpstreamHealth');
export const VOLATILE_FIELDS = Symbol('VolatileFieldStore');
