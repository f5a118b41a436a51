import { setTimeout as pause } from 'node:timers/promises';
import { DEFAULT_ACCOUNT_ID } from '#accounts';
import { eventLogReaderLeaseRedisKey, type NewEvent, RedisEventLog } from '#events';
import { accountKeys, type AccountKeys, newId } from '#platform';
import type { Installation } from './installation.js';

const PREFIX = 'tidings';
const CONTACTS = 200;
/** Number of events that one script appends. */
const BATCH = 500;
/** Maximum time for which workers cannot read the log, in milliseconds. */
const MAX_HOLD_MS = 120_000;

/** Creates webhooks, and writes events into the log as the feed does. */
export class EventSource {
  private readonly log: RedisEventLog;
  private readonly keys: AccountKeys;
  private readonly webhooks: string[] = [];
  private revision = 0;

  /** @param account the account of the events and the webhooks, with one of its API keys */
  constructor(
    private readonly installation: Installation,
    private readonly account = { id: DEFAULT_ACCOUNT_ID, apiKey: installation.apiKey },
  ) {
    this.keys = accountKeys(PREFIX, account.id);
    this.log = new RedisEventLog(installation.redis.client, PREFIX);
  }

  /** Creates webhooks that get every event of the benchmark. */
  async subscribe(count: number, port: number, settings: object = {}): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const webhook = { url: `http://127.0.0.1:${port}/hook/${n}`, eventTypes: ['message.*'], ...settings };
      const { id } = await this.installation.call<{ id: string }>(
        'POST',
        '/v1/webhooks',
        webhook,
        this.account.apiKey,
      );
      this.webhooks.push(id);
    }
  }

  /**
   * Writes events into the log. No worker reads any of them until all are written, because this process holds the
   * reader's lease in the meantime. Resolves when a worker has taken the lease.
   */
  async appendThenRelease(count: number): Promise<void> {
    const { client } = this.installation.redis;
    const lease = eventLogReaderLeaseRedisKey(this.keys);
    const token = newId('req');
    await client.set(lease, token, 'PX', MAX_HOLD_MS);
    for (let first = 0; first < count; first += BATCH) await this.append(Math.min(BATCH, count - first));
    await client.del(lease);
    while ((await client.get(lease)) === null) await pause(1);
  }

  /** Writes events into the log. */
  async append(count: number): Promise<void> {
    await this.log.append(
      this.account.id,
      Array.from({ length: count }, () => this.event()),
    );
  }

  /** Resolves when no delivery of the webhooks is pending, so that all attempts are recorded. */
  async allRecorded(): Promise<void> {
    for (const id of this.webhooks) {
      const pending = this.keys('endpoint', id, 'deliveries', 'pending');
      while ((await this.installation.redis.client.zcard(pending)) > 0) await pause(2);
    }
  }

  private event(): NewEvent {
    this.revision += 1;
    const contactId = `con_${String(this.revision % CONTACTS).padStart(16, '0')}`;
    return {
      type: 'message.received',
      contactId,
      subject: `message:msg_${this.revision}`,
      revision: 1,
      data: dataOf(contactId, this.revision, performance.timeOrigin + performance.now()),
    };
  }
}

/** Returns the body of a delivery, as long as those of the product. `{sentAt}` stands for the time of the event. */
export function sampleBody(): string {
  const event = {
    id: `evt_${'0'.repeat(40)}`,
    type: 'message.received',
    timestamp: new Date().toISOString(),
    account: DEFAULT_ACCOUNT_ID,
    contactId: `con_${'0'.repeat(16)}`,
    sequence: 12_345,
    data: dataOf(`con_${'0'.repeat(16)}`, 12_345, 0),
  };
  return JSON.stringify(event).replace('"sentAt":0', '"sentAt":{sentAt}');
}

function dataOf(contactId: string, n: number, sentAt: number): Record<string, unknown> {
  return {
    sentAt,
    message: {
      id: `msg_${n}`,
      contactId,
      from: '+14155550123',
      to: '+14155550100',
      message: 'Your parcel is here. Please come to the counter with your passport.',
      attachments: [],
      isDelivered: false,
      isRead: false,
      timestamp: '2026-11-25T00:00:00.000Z',
    },
  };
}
