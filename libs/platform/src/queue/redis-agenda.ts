import { createHash } from 'node:crypto';
import type { Agenda, AgendaTask, AgendaTime, ScheduledTask, DueTasks, ClaimedTask } from './agenda.js';
import { accountKeys, type AccountKeys } from '../redis/keys.js';
import type { RedisClient } from '../redis/redis-connection.js';
import { LuaScript } from '../redis/redis-lua-script.js';

const agendaScheduleScript = LuaScript.from(import.meta.url, 'lua/agenda-schedule.lua');

const agendaAddScript = LuaScript.from(import.meta.url, 'lua/agenda-add.lua');

const agendaClaimScript = LuaScript.from(import.meta.url, 'lua/agenda-claim.lua');

const agendaRenewScript = LuaScript.from(import.meta.url, 'lua/agenda-renew.lua');

const agendaCompleteScript = LuaScript.from(import.meta.url, 'lua/agenda-complete.lua');

const wakeOthersScript = LuaScript.from(import.meta.url, 'lua/agenda-wake-others.lua');

const agendaRemoveScript = LuaScript.from(import.meta.url, 'lua/agenda-remove.lua');

/**
 * An {@link Agenda} in Redis: a sorted set, two hashes, a counter and a time. All five keys are in one hash slot of a
 * Redis Cluster.
 */
export class RedisAgenda implements Agenda {
  private readonly keys: { due: string; claimed: string; rescheduled: string };
  private readonly claims: string;
  private readonly latestTime: string;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    name: string,
  ) {
    const key = agendaKeys(prefix, name);
    this.keys = { due: key('due'), claimed: key('taken'), rescheduled: key('asked') };
    this.claims = key('claims');
    this.latestTime = key('latest-time');
  }

  async schedule(tasks: readonly ScheduledTask[]): Promise<void> {
    if (tasks.length > 0)
      await agendaScheduleScript.run(this.redis, this.keys, { tasks: tasks.flatMap(scheduleArguments) });
  }

  async addMissing(tasks: readonly ScheduledTask[]): Promise<void> {
    if (tasks.length > 0)
      await agendaAddScript.run(this.redis, this.keys, { tasks: tasks.flatMap(scheduleArguments) });
  }

  async claimDue(count: number, leaseMs: number): Promise<DueTasks> {
    const reply = await agendaClaimScript.run(
      this.redis,
      { claims: this.claims, latestTime: this.latestTime, ...this.keys },
      { maxCount: count, lease: leaseMs },
    );
    const { nextInMs, tasks: claimed } = reply as { nextInMs: number; tasks: string[] };
    const tasks: ClaimedTask[] = [];
    for (let i = 0; i < claimed.length; i += 2) {
      tasks.push({ ...taskOf(String(claimed[i])), claim: String(claimed[i + 1]) });
    }
    return { tasks, ...(nextInMs < 0 ? {} : { nextInMs }) };
  }

  async renew(tasks: readonly ClaimedTask[], leaseMs: number): Promise<void> {
    if (tasks.length === 0) return;
    await agendaRenewScript.run(this.redis, this.keys, {
      lease: leaseMs,
      tasks: tasks.flatMap((task) => [memberOf(task), task.claim]),
    });
  }

  async complete(
    task: ClaimedTask,
    time: AgendaTime | undefined,
    others: readonly ScheduledTask[] = [],
  ): Promise<number | undefined> {
    const written = time === undefined ? '' : timeArgument(task, time);
    const { nextInMs } = (await agendaCompleteScript.run(this.redis, this.keys, {
      task: memberOf(task),
      claim: task.claim,
      time: written,
      others: others.flatMap(scheduleArguments),
    })) as { nextInMs: number };
    return nextInMs < 0 ? undefined : nextInMs;
  }

  async wakeOthers(): Promise<void> {
    await wakeOthersScript.run(this.redis, this.keys);
  }

  async remove(tasks: readonly AgendaTask[]): Promise<void> {
    if (tasks.length > 0) await agendaRemoveScript.run(this.redis, this.keys, { tasks: tasks.map(memberOf) });
  }
}

/**
 * Returns the Redis channel on which an agenda's wake-ups are published. A wake-up is the time until the earliest
 * task is due, in milliseconds.
 */
export function agendaWakeUpChannel(prefix: string, name: string): string {
  return `${agendaKeys(prefix, name)('due')}:sooner`;
}

/**
 * Returns the function that builds the Redis keys of an agenda. These keys contain the agenda's name where the keys
 * of an account contain the account's id. The name starts with a dot, which no account id contains. The keys of an
 * agenda therefore differ from those of every account.
 */
function agendaKeys(prefix: string, name: string): AccountKeys {
  return accountKeys(prefix, `.agenda-${name}`);
}

function memberOf({ account, round }: AgendaTask): string {
  return `${round} ${account}`;
}

function taskOf(member: string): AgendaTask {
  const blank = member.indexOf(' ');
  return { round: member.slice(0, blank), account: member.slice(blank + 1) };
}

function scheduleArguments(task: ScheduledTask): string[] {
  return [memberOf(task), timeArgument(task, task.time)];
}

function timeArgument(task: AgendaTask, time: AgendaTime): string {
  if (typeof time === 'number') return `+${Math.max(Math.ceil(time), 0)}`;
  if ('atMs' in time) return `@${Math.ceil(time.atMs)}`;
  const everyMs = Math.max(Math.ceil(time.everyMs), 1);
  return `/${everyMs}:${phaseOf(task, everyMs)}`;
}

/**
 * Returns when a recurring task is due within each interval, in milliseconds from the start of the interval. Every
 * process computes the same result for a task. The due times of all tasks are spread evenly over the interval.
 */
function phaseOf(task: AgendaTask, everyMs: number): number {
  const bits = createHash('sha1').update(memberOf(task)).digest().readUInt32BE(0);
  return Math.floor((bits / 2 ** 32) * everyMs);
}
