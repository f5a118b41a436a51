import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { AccountDirectory, Principal } from '#accounts';
import type { EventLog } from '#events';
import type { FeedStore, VolatileFieldStore } from '#feed';
import type { SendList } from '#relay';
import type { UpstreamHealth } from '#upstream';
import type { DeliveriesOverviewReader } from '#webhooks';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { maySee } from '../auth/operator.js';
import { ApiProblems } from '../problems/api-problems.js';
import { type FullReadiness, RedisReadiness } from '../health/redis-readiness.js';
import {
  ACCOUNTS,
  BUDGET_WATCH,
  DELIVERIES_WATCH,
  EVENT_LOG,
  FEED,
  SEND_LIST,
  UPSTREAM_HEALTH,
  VOLATILE_FIELDS,
} from '../tokens.js';
import type { BudgetWatch } from './budget-watch.js';
import { pollerOf } from './poller-status.js';
import { StatusView } from './status.view.js';
import { timeOf } from './time-of.js';

/** Maximum number of account problems in a response. */
const MAX_ACCOUNTS = 100;

@ApiTags('Status')
@Controller('v1')
export class StatusController {
  constructor(
    @Inject(ACCOUNTS) private readonly accounts: AccountDirectory,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(FEED) private readonly feed: Pick<FeedStore, 'overview'>,
    @Inject(SEND_LIST) private readonly sends: SendList,
    @Inject(UPSTREAM_HEALTH) private readonly health: UpstreamHealth,
    @Inject(VOLATILE_FIELDS) private readonly volatile: Pick<VolatileFieldStore, 'volatileFields'>,
    @Inject(BUDGET_WATCH) private readonly budget: BudgetWatch,
    @Inject(DELIVERIES_WATCH) private readonly deliveries: DeliveriesOverviewReader,
    @Inject(RedisReadiness) private readonly readiness: RedisReadiness,
  ) {}

  @Get('status')
  @RequireScope('admin')
  @ApiOperation({
    operationId: 'getStatus',
    summary: 'Get the status of the account and of the installation',
    description:
      'Shows whether the messaging service is available, how many sends and deliveries wait, and how quickly new messages are detected.',
  })
  @ApiOkResponse({ type: StatusView })
  @ApiProblems()
  async get(@Caller() caller: Principal): Promise<StatusView> {
    const { account } = caller;
    const known = await this.accounts.find(account);
    const [usage, volatile, installedAt, feed, sends, outage, deliveries, dispatchLagMs] = await Promise.all([
      this.budget.usage(account, known?.requestsPerSecond ?? 1),
      this.volatile.volatileFields(account),
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
      readiness: await this.readinessFor(caller),
      upstream: {
        state: outage === undefined ? 'up' : 'down',
        since: timeOf(outage?.since),
        reason: outage?.reason ?? null,
      },
      sends,
      poller: pollerOf(feed, known, usage, volatile),
      deliveries: {
        ...deliveries,
        failing: deliveries.failing.map(({ endpointId, since }) => ({ webhookId: endpointId, since })),
        dispatchLagMs,
      },
    };
  }

  private async readinessFor(caller: Principal): Promise<FullReadiness> {
    const readiness = await this.readiness.checkFor((account) => maySee(caller, account));
    return { ...readiness, accounts: readiness.accounts.slice(0, MAX_ACCOUNTS) };
  }
}
