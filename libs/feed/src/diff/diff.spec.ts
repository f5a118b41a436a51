import { describe, expect, it } from '@jest/globals';
import { parseMessage, type UpstreamMessage } from '#upstream';
import { compareMessages } from './compared-message.js';
import { diffMessages, type DiffInput, type DiffResult } from './diff.js';
import { messageFingerprintOf } from '../form/fingerprint.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { packKnownMessage, unpackKnownMessage } from '../snapshot/known-message-codec.js';

function shown(id: string, fields: Record<string, unknown> = {}): UpstreamMessage {
  const message = parseMessage({
    id,
    from: '+15550000000',
    to: '+15551234567',
    direction: 'outbound',
    message: 'Hi',
    timestamp: '2026-01-01T00:00:00.000Z',
    attachments: [],
    service: 'iMessage',
    status: { read: false, delivered: false },
    ...fields,
  });
  if (message === undefined) throw new Error('unreadable');
  return message;
}
const flags = (delivered: boolean, read: boolean): Record<string, unknown> => ({
  status: { delivered, read },
});
const inbound = { direction: 'inbound' };

/** Stores the snapshots of one contact between reads, packed as in Redis. */
class Memory {
  readonly known = new Map<string, KnownMessage>();

  see(observed: UpstreamMessage[], more: Partial<DiffInput> = {}): DiffResult['events'] {
    const compared = compareMessages(observed, this.known);
    const result = diffMessages({ contactId: 'c', compared, sends: new Map(), ...more });
    for (const [id, message] of result.known)
      this.known.set(id, unpackKnownMessage(packKnownMessage(message)));
    return result.events;
  }
}

const types = (events: DiffResult['events']): string[] => events.map(({ type }) => type);
const changes = (events: DiffResult['events']): unknown[] => events.map(({ data }) => data['changes']);

describe('the timestamp in the snapshot of a message', () => {
  it.each([undefined, '0001-01-01T00:00:00Z'])(
    'is stored when upstream adds or corrects the timestamp, which decides how long flags are checked (first timestamp: %s)',
    (first) => {
      const memory = new Memory();
      const timestamp = '2026-01-01T00:00:00.000Z';
      memory.see([shown('m', { timestamp: first })]);
      memory.see([shown('m', { timestamp, ...flags(true, false) })]);
      expect(memory.known.get('m')?.timestamp).toBe(Date.parse(timestamp));
    },
  );
});

describe('a new message', () => {
  it.each([
    ['outbound', 'message.sent'],
    ['inbound', 'message.received'],
    ['sideways', 'message.created'],
  ])('that is %s is emitted as %s with all its fields', (direction, type) => {
    const message = shown('m', { direction, extra: { kept: 1 } });
    const [event, ...more] = new Memory().see([message]);
    expect(more).toEqual([]);
    expect(event).toEqual({
      type,
      contactId: 'c',
      subject: 'message:["c","m"]',
      revision: 1,
      data: { contactId: 'c', message: message.raw },
    });
  });

  it('that is outbound, delivered and read is emitted as sent, then delivered, then read', () => {
    const events = new Memory().see([shown('m', flags(true, true))]);
    expect(types(events)).toEqual(['message.sent', 'message.delivered', 'message.read']);
    expect(changes(events)).toEqual([
      undefined,
      { 'status.delivered': { from: false, to: true } },
      { 'status.read': { from: false, to: true } },
    ]);
    expect(events.map(({ revision }) => revision)).toEqual([1, 2, 3]);
    expect(types(new Memory().see([shown('m', flags(false, true))]))).toEqual([
      'message.sent',
      'message.read',
    ]);
  });

  it('that is inbound causes only a received event, even if its delivered and read flags are set', () => {
    const memory = new Memory();
    expect(types(memory.see([shown('m', { ...inbound, ...flags(true, true) })]))).toEqual([
      'message.received',
    ]);
    expect(memory.see([shown('m', { ...inbound, ...flags(true, true) })])).toEqual([]);
    expect(types(memory.see([shown('m', { ...inbound, ...flags(true, false) })]))).toEqual([
      'message.updated',
    ]);
    expect(types(memory.see([shown('m', { ...inbound, ...flags(true, true) })]))).toEqual([
      'message.updated',
    ]);
  });

  it('that belongs to a send carries the send id in all its events', () => {
    const memory = new Memory();
    const sends = new Map([['m', { sendId: 'snd_1' }]]);
    const events = [
      ...memory.see([shown('m')], { sends }),
      ...memory.see([shown('m', flags(true, false))], { sends }),
    ];
    expect(events.map(({ data }) => data['sendId'])).toEqual(['snd_1', 'snd_1']);
  });

  it('has an event subject that no other message has, even if ids contain quotes or separators', () => {
    const subjectOf = (contactId: string, id: string): string | undefined =>
      new Memory().see([shown(id)], { contactId })[0]?.subject;
    expect(subjectOf('a:b', 'c')).not.toBe(subjectOf('a', 'b:c'));
    expect(subjectOf('a","b', 'c')).not.toBe(subjectOf('a', 'b","c'));
  });
});

describe('the first read of a contact', () => {
  const firstReadEventRule = { emitAfter: Date.UTC(2026, 0, 1), undated: 'silent' } as const;
  const at = (ms: number): Record<string, unknown> => ({
    timestamp: new Date(firstReadEventRule.emitAfter + ms).toISOString(),
  });

  it('emits only the messages whose timestamp is after a given time', () => {
    const events = new Memory().see([shown('old', at(-1)), shown('line', at(0)), shown('new', at(1))], {
      firstReadEventRule,
    });
    expect(events.map(({ subject }) => subject)).toEqual(['message:["c","new"]']);
  });

  it.each([
    ['silent', []],
    ['emit', ['message.sent']],
  ] as const)(
    'with the setting `undated: %s` emits the events %j for a message without a timestamp',
    (undated, expected) => {
      const events = new Memory().see([shown('m', { timestamp: null })], {
        firstReadEventRule: { ...firstReadEventRule, undated },
      });
      expect(types(events)).toEqual(expected);
    },
  );

  it('emits an event for a message that belongs to a send, however old the message is', () => {
    const events = new Memory().see([shown('m', at(-99_999_999))], {
      firstReadEventRule,
      sends: new Map([['m', { sendId: 'snd_1' }]]),
    });
    expect(types(events)).toEqual(['message.sent']);
  });

  it('with the setting areSendsDated emits a message that belongs to a send only if the timestamp of the message is after the given time', () => {
    const events = new Memory().see([shown('old', at(-1)), shown('new', at(1))], {
      firstReadEventRule: { ...firstReadEventRule, areSendsDated: true },
      sends: new Map(['old', 'new'].map((id) => [id, { sendId: `snd_${id}` }])),
    });
    expect(events.map(({ subject }) => subject)).toEqual(['message:["c","new"]']);
  });

  it('emits nothing with the setting "silent", not even a message that belongs to a send', () => {
    const events = new Memory().see([shown('m', at(1))], {
      firstReadEventRule: 'silent',
      sends: new Map([['m', { sendId: 'snd_1' }]]),
    });
    expect(events).toEqual([]);
  });

  it('emits no event for a flag that an old message already has, but a flag that is set later causes an event', () => {
    const memory = new Memory();
    expect(memory.see([shown('m', { ...at(-1), ...flags(true, false) })], { firstReadEventRule })).toEqual(
      [],
    );
    expect(memory.see([shown('m', { ...at(-1), ...flags(true, false) })])).toEqual([]);
    const events = memory.see([shown('m', { ...at(-1), ...flags(true, true) })]);
    expect(types(events)).toEqual(['message.read']);
    expect(events[0]?.revision).toBe(1);
  });
});

describe('a known message', () => {
  it('whose content is the same as at the previous read causes no event, even if the order of the keys differs', () => {
    const memory = new Memory();
    memory.see([shown('m', { nested: { a: 1, b: [{ c: 1, d: 2 }] } })]);
    const { raw } = shown('m', { nested: { b: [{ d: 2, c: 1 }], a: 1 } });
    const turned = parseMessage(Object.fromEntries(Object.entries(raw).reverse()));
    expect(memory.see(turned === undefined ? [] : [turned])).toEqual([]);
  });

  it('causes one delivered and one read event; further changes of its flags cause updated events', () => {
    const memory = new Memory();
    memory.see([shown('m')]);
    const steps: [boolean, boolean][] = [
      [true, false],
      [false, false],
      [true, false],
      [true, true],
      [false, false],
      [true, true],
    ];
    const events = steps.map(([delivered, read]) => memory.see([shown('m', flags(delivered, read))]));
    expect(events.map(types)).toEqual([
      ['message.delivered'],
      ['message.updated'],
      ['message.updated'],
      ['message.read'],
      ['message.updated'],
      ['message.updated'],
    ]);
    expect(events.flat().map(({ revision }) => revision)).toEqual([2, 3, 4, 5, 6, 7]);
    expect(changes(events[4] ?? [])).toEqual([
      { 'status.delivered': { from: true, to: false }, 'status.read': { from: true, to: false } },
    ]);
  });

  it('whose flags `delivered` and `read` are both set between two polls causes `message.delivered`, then `message.read`', () => {
    const memory = new Memory();
    memory.see([shown('m')]);
    expect(types(memory.see([shown('m', flags(true, true))]))).toEqual(['message.delivered', 'message.read']);
  });

  it('can cause `message.read` before `message.delivered`', () => {
    const memory = new Memory();
    memory.see([shown('m')]);
    expect(types(memory.see([shown('m', flags(false, true))]))).toEqual(['message.read']);
    expect(types(memory.see([shown('m', flags(true, true))]))).toEqual(['message.delivered']);
  });

  it('that was edited causes an event with the names and new values of the changed fields', () => {
    const memory = new Memory();
    memory.see([shown('m')]);
    const edited = { message: 'Ho', service: 'SMS', attachments: [{ url: 'x' }], mood: 'new' };
    const events = memory.see([shown('m', edited)]);
    expect(types(events)).toEqual(['message.updated']);
    expect(changes(events)).toEqual([
      {
        message: { to: 'Ho' },
        service: { to: 'SMS' },
        attachments: { to: [{ url: 'x' }] },
        other: { to: { status: {}, mood: 'new' } },
      },
    ]);
    expect(memory.see([shown('m', edited)])).toEqual([]);
  });

  it('that is delivered and edited between two reads is emitted as delivered, then as updated', () => {
    const memory = new Memory();
    memory.see([shown('m')]);
    const events = memory.see([shown('m', { message: 'Ho', ...flags(true, false) })]);
    expect(types(events)).toEqual(['message.delivered', 'message.updated']);
    expect(changes(events)).toEqual([
      { 'status.delivered': { from: false, to: true } },
      { message: { to: 'Ho' } },
    ]);
  });

  it('that lost a field, or whose timestamp changed, causes an event that names each changed field', () => {
    const memory = new Memory();
    memory.see([shown('m')]);
    const { service, ...raw } = shown('m').raw as Record<string, unknown>;
    expect(service).toBeDefined();
    const gone = parseMessage(raw);
    expect(changes(memory.see(gone === undefined ? [] : [gone]))).toEqual([{ service: { to: null } }]);
    const moved = memory.see([shown('m', { timestamp: '2026-01-01T00:00:01.000Z' })]);
    expect(Object.keys(changes(moved)[0] ?? {}).sort()).toEqual(['service', 'timestamp']);
  });

  it('is emitted as updated if the hash of the whole message changed, even if no hash of a single field changed', () => {
    const before: KnownMessage = {
      direction: 'outbound',
      delivered: false,
      read: false,
      deliveredEmitted: false,
      readEmitted: false,
      deleted: false,
      revision: 1,
      fingerprint: { ...messageFingerprintOf(shown('m')), low: 0x01234567 },
    };
    const result = diffMessages({
      contactId: 'c',
      compared: compareMessages([shown('m')], new Map([['m', before]])),
      sends: new Map(),
    });
    expect(types(result.events)).toEqual(['message.updated']);
    expect(result.known.get('m')).toMatchObject({
      revision: 2,
      fingerprint: messageFingerprintOf(shown('m')),
    });
  });
});

describe('the result of comparing one read with the snapshots', () => {
  it('lists the events of new messages, oldest first, then those of changed messages', () => {
    const memory = new Memory();
    memory.see([shown('a'), shown('b')]);
    const events = memory.see([
      shown('a', { message: 'Ho' }),
      shown('c'),
      shown('b', flags(true, false)),
      shown('d', inbound),
    ]);
    expect(events.map(({ type, subject }) => `${type} ${subject.slice(-3, -2)}`)).toEqual([
      'message.sent c',
      'message.received d',
      'message.updated a',
      'message.delivered b',
    ]);
  });

  it('contains the new snapshots of new and changed messages, and no others', () => {
    const first = diffMessages({
      contactId: 'c',
      compared: compareMessages([shown('a'), shown('b')], new Map()),
      sends: new Map(),
    });
    const second = diffMessages({
      contactId: 'c',
      compared: compareMessages([shown('a'), shown('b', flags(true, false)), shown('c')], first.known),
      sends: new Map(),
    });
    expect([...second.known.keys()].sort()).toEqual(['b', 'c']);
  });
});
