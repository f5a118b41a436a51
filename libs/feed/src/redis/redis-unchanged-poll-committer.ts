import { accountKeys, CallBatcher, type RedisClient } from '#platform';
import { pollReportLuaArguments, pollReportRedisKeys } from '../delay/redis-poll-report.js';
import type { PollReport } from '../delay/poll-report.js';
import type { UnchangedPoll } from '../poll/poll-commit.js';
import type { NextDueTime } from '../poll/poll-queue.js';
import { packRebuildablePollState } from '../snapshot/rebuildable-poll-state.js';
import { commitUnchangedPollsScript } from './redis-feed-scripts.js';
import { parseNextDueTime, pollQueueRedisKeys } from './redis-poll-queue-keys.js';

/** Maximum number of polls that one script run commits. A running script blocks all other clients of Redis. */
const MAX_POLLS_A_COMMIT = 64;

interface PollOfContact {
  contactId: string;
  poll: UnchangedPoll;
}

/**
 * Commits polls that found no changes. The commits of one account in one turn of the event loop are made together.
 */
export class RedisUnchangedPollCommitter {
  private readonly batches: CallBatcher<PollOfContact, NextDueTime | undefined>;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
  ) {
    this.batches = new CallBatcher((account, polls) => this.commitAll(account, polls), MAX_POLLS_A_COMMIT);
  }

  commit(account: string, contactId: string, poll: UnchangedPoll): Promise<NextDueTime | undefined> {
    return this.batches.call(account, { contactId, poll });
  }

  private async commitAll(
    account: string,
    polls: readonly PollOfContact[],
  ): Promise<(NextDueTime | undefined)[]> {
    const keys = accountKeys(this.prefix, account);
    const shownAt = polls.flatMap(({ poll }) => (poll.showsMessages ? [poll.report.startedAt] : []));
    const { startedAt } = newestReport(polls);
    const reply = await commitUnchangedPollsScript.run(
      this.redis,
      {
        list: keys('contact-list'),
        rates: keys('polls', 'rates'),
        ...pollQueueRedisKeys(keys),
        ...pollReportRedisKeys(keys, startedAt),
      },
      {
        contactPrefix: keys('c', ''),
        messagesShownAt: shownAt.length === 0 ? '' : Math.max(...shownAt),
        count: polls.length,
        polls: [
          ...polls.flatMap(({ contactId, poll }) => [
            ...[contactId, poll.lease ?? '', poll.version, poll.redisRun],
            packRebuildablePollState(poll.extension),
            ...[poll.bucket, Math.round(poll.dueInMs)],
          ]),
          ...tightestReports(polls).flatMap(pollReportLuaArguments),
        ],
      },
    );
    const { nextDue, committed } = reply as { nextDue: string[]; committed: number[] };
    return polls.map((_, index) => (committed[index] === 1 ? parseNextDueTime(nextDue) : undefined));
  }
}

function newestReport(polls: readonly PollOfContact[]): PollReport {
  return polls.reduce(
    (newest, { poll: { report } }) => (report.startedAt > newest.startedAt ? report : newest),
    polls[0]?.poll.report as PollReport,
  );
}

/**
 * Each poll report gives a lower and an upper bound of the clock difference. Returns the report with the highest
 * lower bound and the report with the lowest upper bound.
 */
function tightestReports(polls: readonly PollOfContact[]): Iterable<PollReport> & readonly PollReport[] {
  const reports = polls.map(({ poll: { report } }) => report);
  // The clock difference is at least the `Date` header minus the time of the commit. All reports are committed at
  // the same time, so the latest `Date` header gives the highest lower bound.
  const forLowerBound = reports.reduce((a, b) => ((b.upstreamDate ?? 0) > (a.upstreamDate ?? 0) ? b : a));
  const upperBoundOf = ({ upstreamDate, startedAt }: PollReport): number =>
    upstreamDate === undefined ? Infinity : upstreamDate - startedAt;
  const forUpperBound = reports.reduce((a, b) => (upperBoundOf(b) < upperBoundOf(a) ? b : a));
  return [...new Set([forLowerBound, forUpperBound])];
}
