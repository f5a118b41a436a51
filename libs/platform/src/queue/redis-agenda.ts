import { createHash } from 'node:crypto';
import type { Agenda, AgendaTask, AgendaTime, DatedTask, DueTasks, TakenTask } from './agenda.js';
import { accountKeys } from '../redis/keys.js';
import type { RedisClient } from '../redis/redis-connection.js';
import { RedisScript } from '../redis/redis-script.js';

/**
 * KEYS: due (sorted set: task → when it is due, or when its lease ends), taken (hash: task → claim), asked (hash: task →
 * when it is due again, of those that are under way), the number of claims so far.
 *
 * A time is written `+ms` from now, `@ms` since 1970, or `/every:phase`.
 */
const COMMON = `
local due, taken, asked = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function text(ms) return string.format('%d', ms) end
local function time_of(written)
  local kind, rest = string.sub(written, 1, 1), string.sub(written, 2)
  if kind == '+' then return now + tonumber(rest) end
  if kind == '@' then return tonumber(rest) end
  local every, phase = string.match(rest, '^(%d+):(%d+)$')
  return now + every - (now - phase) % every
end
-- Each task and its time, from this argument on. A task that is under way keeps its lease: it is due again when it has ended.
local function ask(from)
  for i = from, #ARGV, 2 do
    local task, at = ARGV[i], time_of(ARGV[i + 1])
    if redis.call('HEXISTS', taken, task) == 1 and redis.call('ZSCORE', due, task) then
      local earlier = redis.call('HGET', asked, task)
      if not earlier or tonumber(earlier) > at then redis.call('HSET', asked, task, text(at)) end
    else
      redis.call('ZADD', due, 'LT', text(at), task)
    end
  end
end
`;

/** ARGV: task, time, … */
const ask = new RedisScript(`${COMMON}
ask(1)
`);

/** ARGV: task, time, … */
const add = new RedisScript(`${COMMON}
for i = 1, #ARGV, 2 do redis.call('ZADD', due, 'NX', text(time_of(ARGV[i + 1])), ARGV[i]) end
`);

/** ARGV: most, lease in ms. Answers in how many ms the next is due, or -1, and each task with its claim. */
const take = new RedisScript(`${COMMON}
local reply = {-1}
for _, task in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', text(now), 'LIMIT', 0, ARGV[1])) do
  local claim = redis.call('INCR', KEYS[4])
  redis.call('ZADD', due, text(now + ARGV[2]), task)
  redis.call('HSET', taken, task, claim)
  -- What was asked of a holder that died is done by this one.
  redis.call('HDEL', asked, task)
  reply[#reply + 1] = task
  reply[#reply + 1] = text(claim)
end
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
if first then reply[1] = math.max(first - now, 0) end
return reply
`);

/** ARGV: lease in ms, then task, claim, … */
const renew = new RedisScript(`${COMMON}
for i = 2, #ARGV, 2 do
  if redis.call('HGET', taken, ARGV[i]) == ARGV[i + 1] then
    redis.call('ZADD', due, 'XX', text(now + ARGV[1]), ARGV[i])
  end
end
`);

/**
 * ARGV: task, claim, time or '', then other tasks and their times. Where another took it meanwhile, that one began later and
 * knows more.
 */
const conclude = new RedisScript(`${COMMON}
ask(4)
local task, at = ARGV[1], ARGV[3] ~= '' and time_of(ARGV[3]) or nil
if redis.call('HGET', taken, task) ~= ARGV[2] then
  if at and redis.call('HEXISTS', taken, task) == 0 then redis.call('ZADD', due, 'LT', text(at), task) end
  return 0
end
local wish = redis.call('HGET', asked, task)
redis.call('HDEL', taken, task)
redis.call('HDEL', asked, task)
if wish then at = math.min(at or tonumber(wish), tonumber(wish)) end
if at then redis.call('ZADD', due, text(at), task) else redis.call('ZREM', due, task) end
return 1
`);

/** ARGV: tasks. */
const remove = new RedisScript(`${COMMON}
for _, task in ipairs(ARGV) do
  redis.call('ZREM', due, task)
  redis.call('HDEL', taken, task)
  redis.call('HDEL', asked, task)
end
`);

/** {@link Agenda} as one sorted set; it has a slot of its own in a Redis Cluster. */
export class RedisAgenda implements Agenda {
  private readonly keys: readonly string[];

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    name: string,
  ) {
    // No account's id has a dot.
    const key = accountKeys(prefix, `.agenda-${name}`);
    this.keys = [key('due'), key('taken'), key('asked'), key('claims')];
  }

  async at(tasks: readonly DatedTask[]): Promise<void> {
    if (tasks.length > 0) await ask.run(this.redis, this.keys, tasks.flatMap(dated));
  }

  async add(tasks: readonly DatedTask[]): Promise<void> {
    if (tasks.length > 0) await add.run(this.redis, this.keys, tasks.flatMap(dated));
  }

  async takeDue(count: number, leaseMs: number): Promise<DueTasks> {
    const reply = await take.run(this.redis, this.keys, [count, leaseMs]);
    const [nextInMs, ...taken] = reply as [number, ...string[]];
    const tasks: TakenTask[] = [];
    for (let i = 0; i < taken.length; i += 2) {
      tasks.push({ ...taskOf(String(taken[i])), claim: String(taken[i + 1]) });
    }
    return { tasks, ...(nextInMs < 0 ? {} : { nextInMs }) };
  }

  async renew(tasks: readonly TakenTask[], leaseMs: number): Promise<void> {
    if (tasks.length === 0) return;
    await renew.run(this.redis, this.keys, [
      leaseMs,
      ...tasks.flatMap((task) => [memberOf(task), task.claim]),
    ]);
  }

  async next(
    task: TakenTask,
    time: AgendaTime | undefined,
    others: readonly DatedTask[] = [],
  ): Promise<void> {
    const written = time === undefined ? '' : writtenTime(task, time);
    await conclude.run(this.redis, this.keys, [
      ...[memberOf(task), task.claim, written],
      ...others.flatMap(dated),
    ]);
  }

  async remove(tasks: readonly AgendaTask[]): Promise<void> {
    if (tasks.length > 0) await remove.run(this.redis, this.keys, tasks.map(memberOf));
  }
}

function memberOf({ account, round }: AgendaTask): string {
  return `${round} ${account}`;
}

function taskOf(member: string): AgendaTask {
  const blank = member.indexOf(' ');
  return { round: member.slice(0, blank), account: member.slice(blank + 1) };
}

function dated(task: DatedTask): string[] {
  return [memberOf(task), writtenTime(task, task.time)];
}

function writtenTime(task: AgendaTask, time: AgendaTime): string {
  if (typeof time === 'number') return `+${Math.max(Math.ceil(time), 0)}`;
  if ('atMs' in time) return `@${Math.ceil(time.atMs)}`;
  const everyMs = Math.max(Math.ceil(time.everyMs), 1);
  return `/${everyMs}:${phaseOf(task, everyMs)}`;
}

/** The same for everyone, and spread evenly over the interval. */
function phaseOf(task: AgendaTask, everyMs: number): number {
  const bits = createHash('sha1').update(memberOf(task)).digest().readUInt32BE(0);
  return Math.floor((bits / 2 ** 32) * everyMs);
}
