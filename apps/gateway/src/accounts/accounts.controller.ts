import { Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Principal } from '#accounts';
import type { FeedStore } from '#feed';
import { Caller } from '../auth/caller.js';
import { RequireScope } from '../auth/require-scope.js';
import { ApiProblems } from '../docs/api-problems.js';
import { notFound } from '../problems/problem.js';
import { FEED } from '../tokens.js';

/** What of the feed can be told to believe. */
export type FeedDoubts = Pick<FeedStore, 'believeDeletions'>;

@ApiTags('Accounts')
@Controller('v1/accounts')
export class AccountsController {
  constructor(@Inject(FEED) private readonly feed: FeedDoubts) {}

  @Post(':id/confirm-deletions')
  @HttpCode(204)
  @RequireScope('admin')
  @ApiOperation({
    operationId: 'confirmDeletions',
    summary: 'Say that what vanished together is deleted',
    description:
      'After `account.suspect`: so many contacts or messages vanished together that nothing was reported as deleted. ' +
      'If they are deleted indeed, the next complete reads report it.',
  })
  @ApiNoContentResponse({ description: 'Deletions are believed from now on.' })
  @ApiProblems('not_found')
  async confirmDeletions(@Caller() { account }: Principal, @Param('id') id: string): Promise<void> {
    if (id !== account) throw notFound('account', id);
    await this.feed.believeDeletions(account);
  }
}
