import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AccountRegistry, API_KEY_SCOPES, type Principal } from '#accounts';
import { type ReadBacklog, statsOfLastHour, type StatsStore } from '#metrics';
import { Caller } from '../auth/caller.js';
import { RequireOneScope } from '../auth/require-scope.js';
import { ApiProblems } from '../problems/api-problems.js';
import { ACCOUNT_REGISTRY, BACKLOG, STATS } from '../tokens.js';
import { StatsView } from './stats.view.js';

@ApiTags('Status')
@Controller('v1')
export class StatsController {
  constructor(
    @Inject(STATS) private readonly store: Pick<StatsStore, 'read'>,
    @Inject(BACKLOG) private readonly readBacklog: ReadBacklog,
    @Inject(ACCOUNT_REGISTRY) private readonly accounts: Pick<AccountRegistry, 'find'>,
  ) {}

  @Get('stats')
  @RequireOneScope(API_KEY_SCOPES, 'denied')
  @ApiOperation({
    operationId: 'getStats',
    summary: 'Get the statistics of the account for the last hour, by minute',
    description:
      'Every list has 60 values, oldest first. The last value belongs to the current minute, which is incomplete. In a list of counts, 0 means that nothing happened. In the lists of delays and of the backlog, null means that nothing was measured. The counts are updated every few seconds. If a process is killed, its counts of the last seconds are lost. The API key or token needs at least one scope, no matter which scope. A token that is restricted to contacts is not enough.',
  })
  @ApiOkResponse({ type: StatsView })
  @ApiProblems()
  async get(@Caller() { account }: Principal): Promise<StatsView> {
    const [kept, backlog, settings] = await Promise.all([
      this.store.read(account),
      this.readBacklog(account),
      this.accounts.find(account),
    ]);
    const { requests, ...stats } = statsOfLastHour(kept, backlog);
    const budgetPerMinute = (settings?.requestsPerSecond ?? 0) * 60;
    return { account, ...stats, requests: { ...requests, budgetPerMinute } };
  }
}
