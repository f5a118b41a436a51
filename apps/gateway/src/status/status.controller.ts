import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Account, AccountDirectory, Principal } from '#accounts';
import type { EventLog } from '#events';
import type { FeedOverview, FeedStore } from '#feed';
import type { SendList } from '#relay';
import type { UpstreamHealth } from '#upstream';
import type { DeliveriesWatch } from '#webhooks';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../docs/api-problems.js';
import { ACCOUNTS, DELIVERIES_WATCH, EVENT_LOG, FEED, SEND_LIST, UPSTREAM_HEALTH } from '../tokens.js';
import { type PollerStatusView, StatusView } from './status.view.js';

@ApiTags('Status')
@Controller('v1')
export class StatusController {
  constructor(
    @Inject(ACCOUNTS) private readonly accounts: AccountDirectory,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(FEED) private readonly feed: Pick<FeedStore, 'overview'>,
    @Inject(SEND_LIST) private readonly sends: SendList,
    @Inject(UPSTREAM_HEALTH) private readonly health: UpstreamHealth,
    @Inject(DELIVERIES_WATCH) private readonly deliveries: DeliveriesWatch,
  ) {}

  @Get('status')
  @RequireScope('admin')
  @ApiOperation({ operationId: 'getStatus', summary: 'How the account stands' })
  @ApiOkResponse({ type: StatusView })
  @ApiProblems()
  async get(@Caller() { account }: Principal): Promise<StatusView> {
    const [known, installedAt, feed, sends, outage, deliveries, dispatchLagMs] = await Promise.all([
      this.accounts.find(account),
      this.log.installedAt(account),
      this.feed.overview(account),
      this.sends.overview(account),
      this.health.outage(account),
      this.deliveries.overview(account),
      this.log.dispatchLagMs(account),
    ]);
    return {
      account,
      installedAt: timeOf(installedAt?.getTime()),
      upstream: {
        state: outage === undefined ? 'up' : 'down',
        since: timeOf(outage?.since),
        reason: outage?.reason ?? null,
      },
      sends,
      poller: pollerOf(feed, known),
      deliveries: { ...deliveries, dispatchLagMs },
    };
  }
}

/** An account that is not polled has no contacts that are. */
function pollerOf(feed: FeedOverview, account: Account | undefined): PollerStatusView {
  const { contacts, due, lagMs } = account?.polling === true ? feed : { contacts: 0, due: 0, lagMs: 0 };
  return {
    state: feed.suspectSince === undefined ? 'ok' : 'suspect',
    suspectSince: timeOf(feed.suspectSince),
    ...{ contacts, due, lagMs },
    sweepMs: Math.ceil((contacts / (account?.requestsPerSecond ?? 1)) * 1_000),
    listedAt: timeOf(feed.listedAt),
    unreadable: feed.unreadable,
  };
}

function timeOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
