import { describe, expect, it } from '@jest/globals';
import type { UpstreamMessage } from '#upstream';
import type { BoundSend, RelayStore } from '../send/relay-store.js';
import type { SendRecord, SendState } from '../send/send-record.js';
import { SimilarMessageCollector } from './similar-message-collector.js';

const BEGUN = Date.UTC(2026, 0, 1);
const NUMBER = '+15551234567';

function message(id: string, other: Partial<UpstreamMessage> = {}): UpstreamMessage {
  const base = { id, direction: 'outbound', to: NUMBER, body: 'Hi', timestamp: BEGUN + 1_000 } as const;
  return { ...base, attachments: 0, delivered: false, read: false, raw: { id }, ...other };
}

function send(id: string, text = 'Hi', state: Partial<SendState> = {}): SendRecord {
  return {
    order: { id, createdAt: BEGUN - 1, phoneNumber: NUMBER, type: 'text', message: text },
    state: {
      ...{ status: 'relaying', phase: 'looking', revision: 1, updatedAt: 0, attempts: [], refusals: 0 },
      begunAt: BEGUN,
      ...state,
    },
  };
}

/**
 * Returns a store in which these messages belong to sends.
 * @param owners id of the send, by message id
 */
function storeWith(owners: Record<string, string> = {}): RelayStore {
  const boundSends = (_account: string, _contactId: string, ids: readonly string[]) =>
    Promise.resolve(
      new Map(
        ids.flatMap((id): [string, BoundSend][] => {
          const sendId = owners[id];
          return sendId === undefined ? [] : [[id, { sendId }]];
        }),
      ),
    );
  return { boundSends } as Partial<RelayStore> as RelayStore;
}

/** Returns the reasons of the candidates, by message id. */
async function reasons(
  record: SendRecord,
  messages: UpstreamMessage[],
  { owners = {}, aheadMs = 0 }: { owners?: Record<string, string>; aheadMs?: number } = {},
): Promise<Record<string, string>> {
  const similar = new SimilarMessageCollector([record]);
  similar.add('c', messages, aheadMs);
  const candidates = await similar.candidatesOf(storeWith(owners), 'default', record);
  return Object.fromEntries(candidates.map(({ messageId, reason }) => [messageId, reason]));
}

describe('the messages that resemble a send', () => {
  it('are reported, each with the reason why it was not recorded as the message of the send', async () => {
    const messages = [
      message('early', { timestamp: BEGUN - 60_000 }),
      message('taken'),
      message('picture', { attachments: 1 }),
      { ...message('known'), timestamp: BEGUN + 2_000 },
    ];
    expect(await reasons(send('snd_1'), messages, { owners: { taken: 'snd_2' } })).toEqual({
      early: 'The message was sent before this send was posted.',
      taken: 'The message belongs to another send.',
      picture: 'The message has a different number of attachments.',
      known: 'The message was already known before this look-up.',
    });
  });

  it('are outbound messages to the recipient with the same text, at most an hour older than the POST', async () => {
    const messages = [
      message('other text', { body: 'Ho' }),
      message('inbound', { direction: 'inbound' }),
      message('to another', { to: '+15551234568' }),
      message('old', { timestamp: BEGUN - 3_601_000 }),
      message('same', { body: ' Hi\r\n' }),
    ];
    expect(Object.keys(await reasons(send('snd_1'), messages))).toEqual(['same']);
  });

  it("may be up to a day older than the POST if Redis may have lost the record of a POST, and it is unknown whether Redis' clock was set back", async () => {
    const messages = [
      message('day before', { timestamp: BEGUN - 86_401_000 }),
      message('hours before', { timestamp: BEGUN - 7_200_000 }),
    ];
    const lost = send('snd_1', 'Hi', { mayHaveLostPost: true });
    expect(Object.keys(await reasons(lost, messages))).toEqual(['hours before']);
    const compared = { ...lost, order: { ...lost.order, upstreamAheadMs: 0 } };
    expect(await reasons(compared, messages)).toEqual({});
  });

  it('are compared with the time of the POST after their timestamps are corrected by the clock difference', async () => {
    const aheadMs = 7_200_000;
    const one = message('m', { timestamp: BEGUN + aheadMs - 60_000 });
    expect(await reasons(send('snd_1'), [one], { aheadMs })).toEqual({
      m: 'The message was sent before this send was posted.',
    });
  });

  it('do not include a message that is bound to the send', async () => {
    const record = send('snd_1', 'Hi', { contactId: 'c', messageId: 'own' });
    const messages = [message('own'), message('found now')];
    expect(await reasons(record, messages, { owners: { 'found now': 'snd_1' } })).toEqual({});
  });

  it('are limited to the five messages closest in time to the POST; a message that is read twice is listed once', async () => {
    const record = send('snd_1');
    const other = send('snd_2', 'Ho');
    const similar = new SimilarMessageCollector([record, other]);
    const messages = Array.from({ length: 9 }, (_, i) =>
      message(String(i), { timestamp: BEGUN + 1_000 * i }),
    );
    similar.add('c', messages.toReversed(), 0);
    similar.add('c', messages, 0);
    const found = await similar.candidatesOf(storeWith(), 'default', record);
    expect(found.map(({ messageId }) => messageId)).toEqual(['0', '1', '2', '3', '4']);
    expect(await similar.candidatesOf(storeWith(), 'default', other)).toEqual([]);
    expect(similar).toMatchObject({ contactIds: ['c'], messagesRead: 18 });
  });
});
