import { eraseConversationRows } from '#conversations';
import type { Queue } from 'bullmq';
import { DuePollAnnouncer, POLL_LEASE_MS, RedisPollDueTimeReader, RedisPollQueue } from '#feed';
import { BullmqHintQueue, type QueuePayloads, clockOfThisMachine } from '#platform';
import { UpstreamProbe } from '#relay';
import type { BudgetedUpstream } from '#upstream';
import type { WorkerCore } from '../compose.js';
import { probeLeaseMs } from '../probe.js';
import { RoundSchedule } from '../round-schedule.js';
import { pollRounds } from './poll-rounds.js';
import { Poller } from './poller.js';

/** The objects of the role `poll`. */
export interface PollRole {
  poller: Poller;
  rounds: RoundSchedule;
  upstream: BudgetedUpstream;
}

/** Builds the objects of the role `poll` on its queue. */
export function composePoll(core: WorkerCore, polls: Queue<QueuePayloads['poll']>): PollRole {
  const { environment, logger, redis, accounts, upstream, health, budget, feed, contactList, contacts } =
    core;
  const { metrics } = core;
  const prefix = environment.REDIS_KEY_PREFIX;
  const { agenda, scheduler } = core.agendas.poll;
  const poller = new Poller({
    queue: metrics.feed.observeQueue(
      new RedisPollQueue(
        redis,
        prefix,
        POLL_LEASE_MS,
        environment.CONVERSATIONS,
        environment.POLL_SWEEP_INTERVAL_MS,
      ),
    ),
    agenda: new DuePollAnnouncer(scheduler),
    ...{ contacts, accounts, health, budget, logger },
  });
  const rounds = pollRounds({
    ...{ poller, accounts, health, logger },
    store: feed,
    contacts: contactList,
    probe: new UpstreamProbe(health, (account) => upstream.probe(account), probeLeaseMs(environment)),
    survey: new RedisPollDueTimeReader(redis, prefix),
    polls: BullmqHintQueue.onQueue(polls, clockOfThisMachine),
    probeTimes: health,
    agenda: scheduler,
    contactsEveryMs: environment.CONTACTS_INTERVAL_MS,
    ...(environment.CONVERSATIONS === 'on'
      ? {}
      : { eraseRows: (account: string) => eraseConversationRows(redis, prefix, account) }),
  });
  return { poller, rounds: new RoundSchedule(agenda, rounds, logger, core.wakeUps.poll), upstream };
}
