/** The names under which the composition root binds what the gateway uses; `bindings.ts` says to what. */
export const ENVIRONMENT = Symbol('GatewayEnvironment');
export const LOGGER = Symbol('Logger');
/** This process, as the others know it. */
export const INSTANCE = Symbol('Instance');
export const REDIS = Symbol('RedisClient');
/** What callers read of upstream: an AccountUpstream. */
export const ACCOUNT_UPSTREAM = Symbol('AccountUpstream');
export const ACCOUNTS = Symbol('AccountDirectory');
export const ACCOUNT_REGISTRY = Symbol('AccountRegistry');
export const API_KEY_REGISTRY = Symbol('ApiKeyRegistry');
export const API_KEYS = Symbol('ApiKeys');
export const BLOB_STORE = Symbol('BlobStore');
/** Whether the blob store can be used. */
export const BLOB_WATCH = Symbol('BlobStoreWatch');
/** How the budgets of upstream requests are used. */
export const BUDGET_WATCH = Symbol('BudgetWatch');
/** Redis' clock, as this process knows it. */
export const CLOCK = Symbol('Clock');
export const DELIVERIES = Symbol('Deliveries');
export const DELIVERIES_WATCH = Symbol('DeliveriesWatch');
export const ENDPOINT_REGISTRY = Symbol('EndpointRegistry');
export const ENDPOINT_SECRETS = Symbol('EndpointSecrets');
export const ENDPOINT_TEST = Symbol('EndpointTest');
export const EVENT_LOG = Symbol('EventLog');
export const EVENT_TAIL = Symbol('EventTail');
/** How callers wait for events. */
export const EVENT_WAITS = Symbol('WaitSettings');
export const FEED = Symbol('FeedStore');
export const RATE_LIMIT = Symbol('RateLimit');
export const REPLAYS = Symbol('Replays');
export const REQUEST_BUDGET = Symbol('RequestBudget');
export const SEND_LIST = Symbol('send list');
export const SEND_INTAKE = Symbol('SendIntake');
/** An AbortSignal that aborts when the gateway begins to stop. */
export const SHUTDOWN = Symbol('AbortSignal');
export const UPSTREAM = Symbol('Upstream');
export const UPSTREAM_HEALTH = Symbol('UpstreamHealth');
export const VOLATILE_FIELDS = Symbol('VolatileFieldStore');
