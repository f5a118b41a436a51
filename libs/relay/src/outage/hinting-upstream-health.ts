import type { AgendaHints, RedisClient } from '#platform';
import type { Outage, OutageKind } from '#upstream';
import { RedisUpstreamHealth } from './redis-upstream-health.js';
import { RELAY_ROUND } from '../jobs/relay-hints.js';

/** Notes outages, and tells the agendas of all roles that probe them of their beginning and end. */
export class HintingUpstreamHealth extends RedisUpstreamHealth {
  constructor(
    redis: RedisClient,
    prefix: string,
    private readonly hints: readonly Pick<AgendaHints, 'tell'>[],
  ) {
    super(redis, prefix);
  }

  override async down(account: string, kind: OutageKind, reason: string): Promise<boolean> {
    const isNews = await super.down(account, kind, reason);
    this.tell(account);
    return isNews;
  }

  override async well(account: string, outage: Outage): Promise<boolean> {
    const isNews = await super.well(account, outage);
    this.tell(account);
    return isNews;
  }

  private tell(account: string): void {
    for (const hints of this.hints) hints.tell(account, RELAY_ROUND.probe, 0);
  }
}
