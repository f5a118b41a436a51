import { Inject, Injectable } from '@nestjs/common';
import type { AccountDirectory } from '#accounts';
import type { Gauge, PromMetrics } from '#metrics';
import {
  type GatewayEnvironment,
  workerHasRole,
  heartbeatSetRedisKey,
  readLiveHeartbeatMembers,
  type Logger,
  READINESS_REASON_CODES,
  type RedisClient,
  type RedisClock,
  type RedisMemory,
  readRedisMemory,
  withDeadline,
  WORKER_ROLES,
} from '#platform';
import { usesContactList } from '../health/account-reasons.js';
import { RedisReadiness } from '../health/redis-readiness.js';
import { type AccountState, AccountStates } from '../status/account-state.js';
import { ACCOUNTS, CLOCK, ENVIRONMENT, LOGGER, METRICS, REDIS } from '../tokens.js';

/** Maximum number of accounts with time series of their own: the first by id. */
const MAX_ACCOUNTS = 100;
/** Age up to which the values are used again, in milliseconds. Several scrapers cost no more than one. */
const CACHE_MS = 2_000;
/** Time limit of one reading, in milliseconds. Scrapers wait 10 s. */
const READ_TIMEOUT_MS = 5_000;

/**
 * Metrics of the state of the installation, read from Redis when they are asked for. Every gateway shows the same
 * values. While Redis cannot be written to or read, `tidings_redis_up` is 0, and all others except `tidings_degraded` are
 * missing.
 */
@Injectable()
export class StateMetrics {
  private readonly installation: InstallationGauges;
  private readonly perAccount: AccountGauges;
  private last: { at: number; done: Promise<void> } | undefined;

  constructor(
    @Inject(METRICS) metrics: PromMetrics,
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
    @Inject(ACCOUNTS) private readonly accounts: Pick<AccountDirectory, 'list'>,
    @Inject(CLOCK) private readonly clock: Pick<RedisClock, 'now'>,
    @Inject(RedisReadiness) private readonly readiness: RedisReadiness,
    @Inject(AccountStates) private readonly states: AccountStates,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.installation = installationGauges(metrics);
    this.perAccount = accountGauges(metrics);
  }

  /** Brings the values up to date. Calls at the same time share one reading. */
  refresh(): Promise<void> {
    const now = performance.now();
    if (this.last === undefined || now - this.last.at > CACHE_MS) this.last = { at: now, done: this.read() };
    return this.last.done;
  }

  private async read(): Promise<void> {
    const { status, details } = await this.readiness.check();
    const { redisUp, degraded } = this.installation;
    const reasons = new Set(details.map(({ code }) => code));
    for (const code of READINESS_REASON_CODES) degraded.labels(code).set(reasons.has(code) ? 1 : 0);
    // A gateway that stops no longer checks Redis, so the other values stay as they were.
    if (reasons.has('stopping')) return;
    let isUp = status !== 'unavailable';
    try {
      if (isUp)
        await withDeadline(
          this.readState(),
          READ_TIMEOUT_MS,
          'reading the accounts, queues and processes for the metrics',
        );
    } catch (error) {
      isUp = false;
      this.logger.warn({ err: error }, 'could not read the data for the metrics from Redis');
    }
    redisUp.set(isUp ? 1 : 0);
    if (isUp) this.installation.persistent.set(reasons.has('redis_not_persistent') ? 0 : 1);
    else this.forget();
  }

  private async readState(): Promise<void> {
    const { memoryUsed, memoryMax, workers, accounts: count } = this.installation;
    const workersKey = heartbeatSetRedisKey(this.environment.REDIS_KEY_PREFIX, 'workers');
    const [all, memory, running] = await Promise.all([
      this.accounts.list(),
      readRedisMemory(this.redis),
      readLiveHeartbeatMembers(this.redis, workersKey),
    ]);
    const shown = all
      .map(({ id }) => id)
      .sort()
      .slice(0, MAX_ACCOUNTS);
    const states = await Promise.all(shown.map((account) => this.states.read(account)));
    // Nothing is awaited from here on, so that no scrape sees half of the values.
    this.forget();
    const { used, max } = fullest(memory);
    memoryUsed.set(used);
    memoryMax.set(max);
    count.set(all.length);
    for (const role of WORKER_ROLES)
      workers.labels(role).set(running.filter((worker) => workerHasRole(worker, role)).length);
    for (const [i, account] of shown.entries()) {
      const state = states[i];
      if (state !== undefined) this.show(account, state);
    }
  }

  private show(
    account: string,
    { sends, feed, deliveries, outage, dispatchLagMs, budget, settings }: AccountState,
  ): void {
    const gauges = this.perAccount;
    gauges.upstreamUp.labels(account).set(outage === undefined ? 1 : 0);
    for (const [status, count] of Object.entries(sends.counts))
      gauges.sends.labels(account, status).set(count);
    gauges.oldestQueued.labels(account).set(sends.oldestQueuedMs / 1_000);
    gauges.lanesDue.labels(account).set(sends.lanes.due);
    const isPolled = settings?.polling === true;
    gauges.contacts.labels(account).set(isPolled ? feed.contacts : 0);
    gauges.contactsDue.labels(account).set(isPolled ? feed.due : 0);
    gauges.pollLag.labels(account).set(isPolled ? feed.lagMs / 1_000 : 0);
    const usesList = usesContactList(settings, sends);
    gauges.listReadable.labels(account).set(usesList && feed.listFault !== undefined ? 0 : 1);
    gauges.contactsUnreadable.labels(account).set(usesList ? feed.unreadableContacts : 0);
    gauges.suspect.labels(account).set(usesList && feed.suspectSince !== undefined ? 1 : 0);
    gauges.budgetAllowed.labels(account).set(budget.allowed);
    gauges.budgetUsed.labels(account).set(budget.used);
    gauges.dispatchLag.labels(account).set(dispatchLagMs / 1_000);
    for (const [status, count] of Object.entries(deliveries.counts))
      gauges.deliveries.labels(account, status).set(count);
    gauges.oldestDue.labels(account).set(deliveries.oldestDueMs / 1_000);
    gauges.oldestWaiting.labels(account).set(deliveries.oldestWaitingMs / 1_000);
    const { count, disabled, disabledByFailure } = deliveries.endpoints;
    gauges.webhooks.labels(account, 'enabled').set(count - disabled);
    gauges.webhooks.labels(account, 'disabled').set(disabled);
    gauges.disabledByFailure.labels(account).set(disabledByFailure);
    for (const { endpointId, since } of deliveries.failing)
      gauges.failing
        .labels(account, endpointId)
        .set(Math.max(this.clock.now() - Date.parse(since), 0) / 1_000);
  }

  /** Removes the values of accounts, webhooks and workers that may no longer exist. */
  private forget(): void {
    const { memoryUsed, memoryMax, persistent, workers, accounts } = this.installation;
    for (const gauge of [memoryUsed, memoryMax, persistent, accounts]) gauge.remove();
    workers.reset();
    for (const gauge of Object.values(this.perAccount) as { reset(): void }[]) gauge.reset();
  }
}

interface InstallationGauges {
  redisUp: Gauge;
  degraded: Gauge<'reason'>;
  workers: Gauge<'role'>;
  accounts: Gauge;
  memoryUsed: Gauge;
  memoryMax: Gauge;
  persistent: Gauge;
}

function installationGauges(metrics: PromMetrics): InstallationGauges {
  return {
    redisUp: metrics.gauge(
      'tidings_redis_up',
      '1 if this gateway can write to Redis and can read the data of these metrics in time, else 0.',
    ),
    degraded: metrics.gauge(
      'tidings_degraded',
      '1 if the installation is degraded for the reason in the label `reason`, else 0. `/health/ready` shows why the installation is degraded, with remedies.',
      ['reason'],
    ),
    workers: metrics.gauge('tidings_workers', 'Number of running workers by role.', ['role']),
    accounts: metrics.gauge(
      'tidings_accounts',
      `Number of accounts. Only the first ${MAX_ACCOUNTS} accounts, sorted by id, have metrics of their own.`,
    ),
    memoryUsed: metrics.gauge(
      'tidings_redis_memory_used_bytes',
      'Memory that Redis uses. On a Redis Cluster, this metric and `tidings_redis_memory_max_bytes` have the values of the master node that uses the largest share of its limit, or, if no master node has a limit, the most memory.',
    ),
    memoryMax: metrics.gauge(
      'tidings_redis_memory_max_bytes',
      'Memory that Redis may use (its setting maxmemory); 0 if there is no limit.',
    ),
    persistent: metrics.gauge('tidings_redis_persistent', '1 if Redis writes an append-only file, else 0.'),
  };
}

type AccountGauges = ReturnType<typeof accountGauges>;

function accountGauges(metrics: PromMetrics) {
  const gauge = (name: string, help: string): Gauge<'account'> => metrics.gauge(name, help, ['account']);
  return {
    upstreamUp: gauge(
      'tidings_upstream_up',
      '1 if the messaging service of the account is available, else 0.',
    ),
    sends: metrics.gauge('tidings_sends', 'Number of stored sends by status.', ['account', 'status']),
    oldestQueued: gauge(
      'tidings_oldest_queued_send_seconds',
      'Time since the longest-waiting send became `queued`, while it is `queued` or `relaying`; 0 if no send waits.',
    ),
    lanesDue: gauge('tidings_lanes_due', 'Number of recipients that have a send to process now.'),
    contacts: gauge('tidings_contacts', 'Number of contacts that Tidings polls.'),
    contactsDue: gauge('tidings_contacts_due', 'Number of contacts that are due for a poll.'),
    contactsUnreadable: gauge(
      'tidings_contacts_unreadable',
      'Number of elements of the contact list that cannot be read as contacts. New contacts among them are not polled.',
    ),
    pollLag: gauge('tidings_poll_lag_seconds', 'Time since the most overdue contact became due for a poll.'),
    listReadable: gauge(
      'tidings_contact_list_readable',
      '0 if the contact list cannot be read, otherwise 1.',
    ),
    suspect: gauge(
      'tidings_account_suspect',
      '1 if the messaging service returns far fewer contacts or messages than before, else 0. While the value is 1, Tidings emits no `contact.deleted` or `message.deleted` events for the missing contacts and messages.',
    ),
    budgetAllowed: gauge(
      'tidings_budget_allowed_per_second',
      'Requests per second to the messaging service that the budget allows now.',
    ),
    budgetUsed: gauge(
      'tidings_budget_used_per_second',
      'Moving average of the requests per second to the messaging service.',
    ),
    dispatchLag: gauge(
      'tidings_dispatch_lag_seconds',
      'Age of the oldest event for which no deliveries have been created yet.',
    ),
    deliveries: metrics.gauge(
      'tidings_deliveries',
      'Number of stored deliveries by status. `failed` includes missed deliveries.',
      ['account', 'status'],
    ),
    oldestDue: gauge(
      'tidings_oldest_due_delivery_seconds',
      'Longest time for which a delivery could have been attempted: since it became due, or since the rate limit or pause of its webhook allows a request, whichever is later.',
    ),
    oldestWaiting: gauge(
      'tidings_oldest_waiting_event_seconds',
      'Age of the oldest event that waits in the event log because a webhook has too many pending deliveries.',
    ),
    webhooks: metrics.gauge('tidings_webhooks', 'Number of webhooks by state: enabled or disabled.', [
      'account',
      'state',
    ]),
    disabledByFailure: gauge(
      'tidings_webhooks_disabled_by_failure',
      'Number of webhooks that Tidings disabled, because their deliveries failed for too long or because the receiver answered 410.',
    ),
    failing: metrics.gauge(
      'tidings_webhook_failing_seconds',
      'How long deliveries to a webhook have failed: time since the first failed attempt after the last success. Of each account, only the 20 webhooks that have failed longest have this metric.',
      ['account', 'webhook'],
    ),
  };
}

/**
 * Returns the memory of the master that is closest to its limit, because all data of an account is on one master. If
 * no master has a limit, returns the memory of the master that uses most.
 */
function fullest(masters: readonly RedisMemory[]): RedisMemory {
  const shareOf = ({ used, max }: RedisMemory): number => (max > 0 ? used / max : 0);
  const [first] = masters.toSorted((a, b) => shareOf(b) - shareOf(a) || b.used - a.used);
  return first ?? { used: 0, max: 0 };
}
