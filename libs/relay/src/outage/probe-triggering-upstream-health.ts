import type { BackgroundTaskScheduler, RedisClient } from '#platform';
import type { Outage, OutageKind, UnprobedRequest } from '#upstream';
import { RedisUpstreamHealth } from './redis-upstream-health.js';
import { RELAY_TASK_NAMES } from '../jobs/relay-jobs-with-reconciliation.js';

/**
 * Records the start and end of upstream's outages. After each start and end, the task that tests upstream runs at
 * once.
 */
export class ProbeTriggeringUpstreamHealth extends RedisUpstreamHealth {
  constructor(
    redis: RedisClient,
    prefix: string,
    private readonly schedulers: readonly Pick<BackgroundTaskScheduler, 'announce'>[],
  ) {
    super(redis, prefix);
  }

  override async recordOutage(
    account: string,
    kind: OutageKind,
    reason: string,
    request?: UnprobedRequest,
  ): Promise<boolean> {
    const hasBegun = await super.recordOutage(account, kind, reason, request);
    this.announce(account);
    return hasBegun;
  }

  override async recordRecovery(account: string, outage: Outage): Promise<boolean> {
    const hasEnded = await super.recordRecovery(account, outage);
    this.announce(account);
    return hasEnded;
  }

  private announce(account: string): void {
    for (const scheduler of this.schedulers) scheduler.announce(account, RELAY_TASK_NAMES.probe, 0);
  }
}
