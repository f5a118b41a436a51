/** Injection tokens of the worker's providers. */
export const ENVIRONMENT = Symbol('environment');
export const LOGGER = Symbol('logger');
/** The identity of this process, under which other processes list it. */
export const INSTANCE = Symbol('instance');
export const REDIS = Symbol('redis');
/** The Redis server's clock, as measured by this process. */
export const CLOCK = Symbol('clock');
export const ACCOUNTS = Symbol('accounts');
export const AGENDAS = Symbol('agendas');
export const ACCOUNT_REMOVAL = Symbol('account removal');
export const ACCOUNT_WATCH = Symbol('account watch');
export const ACCOUNT_UPSTREAM = Symbol('account upstream');
export const UPSTREAM_HEALTH = Symbol('upstream health');
export const RELAY_STORE = Symbol('relay store');
export const BLOB_STORE = Symbol('blob store');
export const BLOB_WATCH = Symbol('blob watch');
export const FEED_STORE = Symbol('feed store');
export const CONTACT_POLL = Symbol('contact poll');
export const CONTACT_LIST_POLL = Symbol('contact list poll');
export const RECIPIENT_LOOKUP = Symbol('recipient lookup');
export const RELAY_JOBS = Symbol('relay jobs');
export const LANE_RUNNER = Symbol('lane runner');
export const RELAY_ROUNDS = Symbol('relay rounds');
export const POLLER = Symbol('poller');
export const POLL_QUEUE = Symbol('poll queue');
export const REQUEST_BUDGET = Symbol('request budget');
export const POLL_ROUNDS = Symbol('poll rounds');
export const EVENT_DISPATCH = Symbol('event dispatch');
export const DISPATCH_ROUNDS = Symbol('dispatch rounds');
export const DELIVERY_STORE = Symbol('delivery store');
export const DELIVERY_PUMP = Symbol('delivery pump');
export const EVENT_LOG = Symbol('event log');
