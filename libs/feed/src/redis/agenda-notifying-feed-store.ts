import {
  type BackgroundTaskScheduler,
  type RedisClient,
  ACCOUNT_DUE_TIMES_CHECK_INTERVAL_MS,
} from '#platform';
import type { ContactUpdate, ListCommit } from '../contacts/list-commit.js';
import type { ExpeditePollsResult } from '../feed-store.js';
import type { CommittedPoll, PollCommit, UnchangedPoll } from '../poll/poll-commit.js';
import type { NextDueTime } from '../poll/poll-queue.js';
import { POLL_TASK_NAMES } from '../poll/due-poll-announcer.js';
import { RedisFeedStore } from './redis-feed-store.js';

/**
 * {@link RedisFeedStore} that also informs the agenda (the due times in Redis) of the times at which contacts or the
 * contact list will be due.
 */
export class AgendaNotifyingFeedStore extends RedisFeedStore {
  constructor(
    redis: RedisClient,
    prefix: string,
    private readonly scheduler: Pick<BackgroundTaskScheduler, 'announce'>,
    rowsKept?: 'on' | 'off',
  ) {
    super(redis, prefix, rowsKept);
  }

  override async commitContacts(account: string, commit: ListCommit): Promise<boolean> {
    let count = 0;
    async function* counted(): AsyncGenerator<ContactUpdate> {
      for await (const update of commit.updates) {
        count += 1;
        yield update;
      }
    }
    try {
      return await super.commitContacts(account, { ...commit, updates: counted() });
    } finally {
      // Informs the agenda even if the commit fails. The contact list is committed in batches, and earlier
      // batches may have made contacts due.
      if (count > 0) this.scheduler.announce(account, POLL_TASK_NAMES.due, 0);
    }
  }

  override async commitPoll(
    account: string,
    contactId: string,
    commit: PollCommit,
  ): Promise<CommittedPoll | undefined> {
    const committed = await super.commitPoll(account, contactId, commit);
    if (committed === undefined) return undefined;
    const { dueInMs, deep } = commit;
    if (dueInMs !== undefined) this.announceDue(account, dueInMs);
    if (typeof deep === 'object') this.announceDue(account, deep.inMs);
    return committed;
  }

  override async commitUnchangedPoll(
    account: string,
    contactId: string,
    commit: UnchangedPoll,
  ): Promise<NextDueTime | undefined> {
    const nextDue = await super.commitUnchangedPoll(account, contactId, commit);
    // If no worker has claimed the contact, informs the agenda of the contact's due time. A worker that has claimed
    // the contact informs the agenda itself, after it has polled all due contacts of the account. If that worker
    // dies before that, the account's next round polls the due contacts.
    if (nextDue !== undefined && commit.lease === undefined) this.announceDue(account, commit.dueInMs);
    return nextDue;
  }

  override async expeditePoll(account: string, contactId: string, ms: number): Promise<void> {
    await super.expeditePoll(account, contactId, ms);
    this.announceDue(account, ms);
  }

  override async expeditePollsOfRecipients(
    account: string,
    phoneNumbers: readonly string[],
    ms: number,
  ): Promise<ExpeditePollsResult> {
    const found = await super.expeditePollsOfRecipients(account, phoneNumbers, ms);
    if (found.hasContacts) this.announceDue(account, ms);
    if (found.requestsList) this.scheduler.announce(account, POLL_TASK_NAMES.contacts, 0);
    return found;
  }

  private announceDue(account: string, inMs: number): void {
    if (inMs < ACCOUNT_DUE_TIMES_CHECK_INTERVAL_MS)
      this.scheduler.announce(account, POLL_TASK_NAMES.due, inMs);
  }

  override async requestContactListPoll(account: string): Promise<void> {
    await super.requestContactListPoll(account);
    this.scheduler.announce(account, POLL_TASK_NAMES.contacts, 0);
  }
}
