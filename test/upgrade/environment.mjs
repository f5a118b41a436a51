/** Accounts of the snapshot, and the order in which the upstream of each serves messages. */
export const ORDERS = { default: 'newestFirst', oldest: 'oldestFirst', shuffled: 'random' };

/**
 * The key of an account at its upstream.
 * @param {string} account
 */
export function upstreamKeyOf(account) {
  return `upstream-key-of-${account}`;
}

/**
 * The simulator's settings at its start.
 * @param {string} account
 */
export function settingsOf(account) {
  const order = ORDERS[/** @type {keyof typeof ORDERS} */ (account)];
  return { demo: false, order, sendVisibleDelayMs: 50, deliveredDelayMs: 100, deliveredProbability: 0 };
}

/**
 * Variables with which the data of a snapshot stays valid although it gets older. All data has the times of the day
 * on which the snapshot was made, because data with changed times would not be what the old build stored. So no data
 * may expire by its age: retention has its maximum of ten years, and the other limits are as long. Ten years after
 * the snapshot was made, retention removes its data: then make a new snapshot. If the clock is before the day of the
 * snapshot, the test fails. The test does not check data that expires all the same (leases, budgets, the overlap of a
 * rotated secret).
 *
 * `POLL_SETTLE_HOURS` has its maximum of one year. For older messages, only the sweep reads the flags, so the sweep
 * runs every few seconds.
 * @type {Readonly<Record<string, string>>}
 */
export const ENVIRONMENT = {
  EVENT_RETENTION_HOURS: '87600',
  SEND_RETENTION_HOURS: '87600',
  DELIVERY_RETENTION_HOURS: '87600',
  WEBHOOK_DISABLE_AFTER_HOURS: '87600',
  SEND_MAX_AGE_SECONDS: '315360000',
  POLL_SETTLE_HOURS: '8760',
  POLL_MIN_INTERVAL_MS: '500',
  POLL_MAX_INTERVAL_MS: '3000',
  CONTACTS_INTERVAL_MS: '2000',
  UPSTREAM_REQUESTS_PER_SECOND: '100',
  UPSTREAM_API_KEY: upstreamKeyOf('default'),
  WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  RATE_LIMIT_PER_MINUTE: '1000000',
};
