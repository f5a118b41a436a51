import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Timeline, TimelinePage } from '#conversations';
import type { FeedStore } from '#feed';
import type { Send } from '#relay';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, startTestGateway, type TestGateway } from '../fixtures/gateway.js';
import { makeToken } from '../fixtures/tokens.js';
import { FEED, TIMELINE } from '../tokens.js';

const OWN = 'c_own';
const SHARED_NUMBER = '+14155550133';

let redis: TestRedis;
let gateway: TestGateway;
let shown: Send[];

beforeAll(async () => {
  redis = await startTestRedis();
  shown = [];
  const timeline: Pick<Timeline<Send>, 'read'> = {
    read: () =>
      Promise.resolve<TimelinePage<Send>>({
        entries: shown.map((send) => ({
          ...{ kind: 'send', send, scheduled: false },
          position: { at: Date.parse(send.createdAt), key: send.id },
        })) as unknown as TimelinePage<Send>['entries'],
        next: undefined,
        after: 'now',
        isPartial: false,
      }),
  };
  gateway = await startTestGateway({
    redisUrl: redis.url,
    bound: [{ provide: TIMELINE, useValue: timeline }],
  });
  // Stores which contacts own a number, and the row of a contact, as the feed does.
  await gateway.redis.hset('tidings:{default}:numbers', SHARED_NUMBER, OWN);
  const row = { m: [1_000, 'm_1', 'i', 'Hello'], n: [SHARED_NUMBER], v: 1 };
  await gateway.redis.hset('tidings:{default}:conversations', OWN, JSON.stringify(row));
  await gateway.redis.zadd('tidings:{default}:conversations:order', 1_000, OWN);
  for (const contactId of [null, OWN, 'c_other']) shown.push(await send(contactId));
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

async function send(contactId: string | null): Promise<Send> {
  const reply = await gateway.fetch('/v1/messages/send', json({ phoneNumber: SHARED_NUMBER, message: 'Hi' }));
  const { id } = (await reply.json()) as { id: string };
  const stored = gateway.sends.sends.get(`default/${id}`);
  if (stored === undefined) throw new Error('the send is not stored');
  stored.contactId = contactId;
  return stored;
}

async function sendsOfTimeline(token?: string): Promise<string[]> {
  const reply = await gateway.fetch(
    `/v1/conversations/${OWN}/timeline`,
    token === undefined ? {} : { token },
  );
  const { timeline } = (await reply.json()) as { timeline: { send: Send }[] };
  return timeline.map((entry) => entry.send.id);
}

it('when the gateway makes a contact due for polling, it adds a task to the agenda of the poll workers (the due times in Redis)', async () => {
  await gateway.app.get<FeedStore>(FEED).expeditePoll('default', OWN, 0);
  await eventually('the task is on the agenda', async () => {
    return (await gateway.redis.zscore('tidings:{.agenda-poll}:due', 'due default')) !== null;
  });
});

describe('the list of conversations', () => {
  it('for a restricted token, excludes conversations without a contact, even if contactIds of the token contains the phone number', async () => {
    const number = '+14155550144';
    const sends = { p: 0, f: 0, s: [[1_001, 'snd_1', 'Hello']], v: 1 };
    await gateway.redis.hset('tidings:{default}:conversations:sends', number, JSON.stringify(sends));
    await gateway.redis.zadd('tidings:{default}:conversations:order', 1_001, number);
    const list = async (token?: string): Promise<string[]> => {
      const reply = await gateway.fetch('/v1/conversations', token === undefined ? {} : { token });
      const { conversations } = (await reply.json()) as { conversations: { id: string }[] };
      return conversations.map(({ id }) => id);
    };
    const { token } = await makeToken(gateway, { contactIds: [OWN, number] });
    expect(await list()).toEqual([number, OWN]);
    expect(await list(token)).toEqual([OWN]);
  });
});

describe('the timeline of a contact', () => {
  it('for a token of this contact, excludes sends whose message belongs to another contact with the same phone number', async () => {
    const [unbound, own, elsewhere] = shown.map(({ id }) => id);
    const { token } = await makeToken(gateway, { contactIds: [OWN] });
    expect(await sendsOfTimeline()).toEqual([unbound, own, elsewhere]);
    expect(await sendsOfTimeline(token)).toEqual([unbound, own]);
  });
});
