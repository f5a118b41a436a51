import { getQueueToken } from '@nestjs/bullmq';
import { Inject, Injectable, Module } from '@nestjs/common';
import type { WorkerCore } from '../compose.js';
import { registerQueue } from '../queue.js';
import { RoundsLifecycle } from '../rounds-lifecycle.js';
import { CORE, POLL } from '../tokens.js';
import { composePoll, type PollRole } from './compose-poll.js';
import { PollProcessor } from './poll.processor.js';

@Injectable()
class PollRounds extends RoundsLifecycle {
  constructor(@Inject(POLL) { rounds }: PollRole) {
    super(rounds);
  }
}

/** The role `poll`: reads the contact lists and the due contacts. */
@Module({
  imports: [registerQueue('poll')],
  providers: [
    PollProcessor,
    PollRounds,
    {
      provide: POLL,
      inject: [CORE, getQueueToken('poll')],
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
      await this.core.feed.requestContactListPoll(account);
    } catch (error) {
      this.core.logger.warn(
        { account, err: error },
        'could not request an early read of the contact list of a new account; a periodic task reads the list later',
      );
    }
  }
}
