import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import type { Conversations } from '#conversations';
import type { EventLog } from '#events';
import type { VolatileFieldStore } from '#feed';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { maySee } from '../auth/operator.js';
import { ApiProblems } from '../problems/api-problems.js';
import { type FullReadiness, RedisReadiness } from '../health/redis-readiness.js';
import { CONVERSATIONS, EVENT_LOG, VOLATILE_FIELDS } from '../tokens.js';
import { AccountStates } from './account-state.js';
import { pollerOf } from './poller-status.js';
import { StatusView } from './status.view.js';
import { timeOf } from './time-of.js';

/** Maximum number of account problems in a response. */
const MAX_ACCOUNTS = 100;

@ApiTags('Status')
@Controller('v1')
export class StatusController {
  constructor(
    @Inject(AccountStates) private readonly states: AccountStates,
    @Inject(EVENT_LOG) private readonly log: Pick<EventLog, 'installedAt'>,
    @Inject(VOLATILE_FIELDS) private readonly volatile: Pick<VolatileFieldStore, 'volatileFields'>,
    @Inject(CONVERSATIONS) private readonly conversations: Pick<Conversations, 'countRows'>,
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
    const [
      { settings, budget, feed, sends, outage, deliveries, dispatchLagMs },
      volatile,
      rows,
      installedAt,
    ] = await Promise.all([
      this.states.read(account),
      this.volatile.volatileFields(account),
      this.conversations.countRows(account),
      this.log.installedAt(account),
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
      poller: pollerOf(feed, settings, sends, budget, volatile),
      conversations: { rows: Math.min(rows, feed.contacts), contacts: feed.contacts },
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
