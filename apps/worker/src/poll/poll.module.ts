import { getQueueToken, Processor } from '@nestjs/bullmq';
import { Inject, Module } from '@nestjs/common';
import type { WorkerCore } from '../compose.js';
import { registerQueue, ROUNDS_OPTIONS } from '../queue.js';
import { RoundsProcessor } from '../rounds.processor.js';
import { CORE, POLL } from '../tokens.js';
import { composePoll, type PollRole } from './compose-poll.js';
import { PollProcessor } from './poll.processor.js';

@Processor('poll-ticks', ROUNDS_OPTIONS)
class PollRoundsProcessor extends RoundsProcessor {
  constructor(@Inject(POLL) { rounds }: PollRole) {
    super(rounds);
  }
}

/** The role `poll`: reads the contact lists and the due contacts. */
@Module({
  imports: [registerQueue('poll'), registerQueue('poll-ticks')],
  providers: [
    PollProcessor,
    PollRoundsProcessor,
    {
      provide: POLL,
      inject: [CORE, getQueueToken('poll'), getQueueToken('poll-ticks')],
      useFactory: composePoll,
    },
  ],
})
export class PollModule {
  constructor(
    @Inject(CORE) private readonly core: WorkerCore,
    @Inject(POLL) { rounds }: PollRole,
  ) {
    core.watch.follow(rounds);
    core.watch.follow({
      added: (account, isNew) => {
        if (isNew) void this.requestList(account);
      },
    });
  }

  /**
   * Requests an early read of a new account's contact list. If the request fails, the next round reads the
   * list.
   */
  private async requestList(account: string): Promise<void> {
    try {
      await this.core.feed.requestListPoll(account);
    } catch (error) {
      this.core.logger.warn(
        { account, err: error },
        'could not request the contact list of a new account; a periodic task reads the list later',
      );
    }
  }
}
