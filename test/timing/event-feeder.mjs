// Child process that appends events to the log of an account at a steady rate with the built product, and prints the
// maximum delay of an event. Each event has its number and the time when it was due, in milliseconds since 1970.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { RedisEventLog } from '#events';
import { closeRedis, openRedis, parseRedisAddress } from '#platform';

const ACCOUNT = 'default';
const CONTACTS = 200;
/** Time between two appends, in milliseconds. */
const EVERY_MS = 25;
/** Every fifth event is of a send, every fifth of a delivered message. @type {import('#events').EventType[]} */
const TYPES = ['message.received', 'message.received', 'message.received', 'message.delivered', 'send.sent'];

const [redisUrl = '', perSecond = '', seconds = ''] = process.argv.slice(2);
const total = Number(perSecond) * Number(seconds);
/** Ids must not repeat those of an earlier feeder. */
const run = Date.now().toString(36);
const redis = openRedis(parseRedisAddress(redisUrl), 'failFast', () => undefined);
await once(redis, 'ready');
const log = new RedisEventLog(redis, 'tidings');
const began = performance.now();
let behindMs = 0;

for (let appended = 0; appended < total;) {
  const due = Math.min(total, Math.floor(((performance.now() - began) / 1_000) * Number(perSecond)));
  if (due > appended) {
    const behind = performance.now() - began - (appended / Number(perSecond)) * 1_000;
    behindMs = Math.max(behindMs, behind);
    await log.append(
      ACCOUNT,
      Array.from({ length: due - appended }, (_, i) => eventOf(appended + i)),
    );
    appended = due;
  }
  await pause(EVERY_MS);
}
console.log(JSON.stringify({ events: total, behindMs: Math.round(behindMs) }));
await closeRedis(redis);

/**
 * @param {number} n from 0
 * @returns {import('#events').NewEvent}
 */
function eventOf(n) {
  const type = TYPES[n % TYPES.length] ?? 'message.received';
  const dueAt = Math.round(performance.timeOrigin + began + ((n + 1) / Number(perSecond)) * 1_000);
  const text = `Event ${n} at ${dueAt}: your parcel is here. Please come to the counter with your passport.`;
  const id = `${run}_${n}`;
  if (type === 'send.sent') {
    const send = {
      id: `snd_${id}`,
      status: 'sent',
      phoneNumber: '+14155550123',
      message: text,
      reference: id,
    };
    return { type, subject: `send:${id}`, revision: 1, data: { send } };
  }
  const contactId = `con_${String(n % CONTACTS).padStart(16, '0')}`;
  const message = {
    id: `msg_${id}`,
    contactId,
    from: '+14155550123',
    to: '+14155550100',
    message: text,
    attachments: [],
    isDelivered: type === 'message.delivered',
    isRead: false,
    timestamp: new Date(dueAt).toISOString(),
  };
  return { type, contactId, subject: `message:${id}`, revision: 1, data: { message } };
}
