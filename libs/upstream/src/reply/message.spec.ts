import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseContact, phoneNumbersOf } from './contact.js';
import { parseMessage } from './message.js';

const documented = {
  id: 'm1',
  from: '+15550000000',
  to: '+15551234567',
  direction: 'outbound',
  message: 'Hi',
  timestamp: '2026-01-02T03:04:05.678Z',
  attachments: [{ url: 'x' }],
  service: 'iMessage',
  status: { read: false, delivered: true },
};

describe('a message of upstream', () => {
  it('is parsed as documented, and keeps all fields unchanged in `raw`', () => {
    expect(parseMessage(documented)).toEqual({
      id: 'm1',
      direction: 'outbound',
      from: '+15550000000',
      to: '+15551234567',
      body: 'Hi',
      timestamp: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      attachments: 1,
      delivered: true,
      read: false,
      raw: documented,
    });
  });

  it('is parsed even if it has only an id, or fields of the wrong type', () => {
    const bare = { direction: 'other', body: '', attachments: 0, delivered: false, read: false };
    expect(parseMessage({ id: 7 })).toEqual({ ...bare, id: '7', raw: { id: 7 } });
    const odd = { id: 'x', from: 1, to: [], message: null, timestamp: {}, attachments: 'a', status: 'read' };
    expect(parseMessage(odd)).toEqual({ ...bare, id: 'x', raw: odd });
    expect(parseMessage({ id: 'x', status: { read: 'true', delivered: 1 } })).toMatchObject({
      read: false,
      delivered: false,
    });
  });

  it.each([null, 42, 'text', [], {}, { id: '' }, { id: '\ud83d' }, { id: null }, { id: {} }, { id: true }])(
    'without a valid id is not parsed: %p',
    (value) => {
      expect(parseMessage(value)).toBeUndefined();
      expect(parseContact(value)).toBeUndefined();
    },
  );

  it.each([
    ['inbound', 'inbound'],
    ['INCOMING', 'inbound'],
    ['received', 'inbound'],
    ['Outgoing', 'outbound'],
    ['sent', 'outbound'],
    ['sideways', 'other'],
    ['', 'other'],
    ['constructor', 'other'],
    ['__proto__', 'other'],
    [null, 'other'],
    [1, 'other'],
  ])('with the direction %p counts as %s', (direction, read) => {
    expect(parseMessage({ id: 'x', direction })?.direction).toBe(read);
  });

  it.each([
    ['2026-01-01T02:00:00+02:00', Date.UTC(2026, 0, 1)],
    ['2026-01-01T00:00:00Z', Date.UTC(2026, 0, 1)],
    ['2026-01-01T00:00:00', Date.UTC(2026, 0, 1)],
    ['2026-01-01 00:00:00.000', Date.UTC(2026, 0, 1)],
    [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1)],
    [Date.UTC(2026, 0, 1) / 1000, Date.UTC(2026, 0, 1)],
    ['0001-01-01T00:00:00Z', undefined],
    ['1970-01-01T00:00:00Z', undefined],
    [0, undefined],
    [-1, undefined],
    [1e300, undefined],
    ['yesterday', undefined],
    ['', undefined],
    [null, undefined],
  ])('with the timestamp %p gets the time %p in milliseconds', (timestamp, read) => {
    expect(parseMessage({ id: 'x', timestamp })?.timestamp).toBe(read);
  });

  it('may be any JSON value without causing an error; whatever its `direction` is, a message counts as inbound, outbound or other', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (value, direction) => {
        parseMessage(value);
        expect(['inbound', 'outbound', 'other']).toContain(parseMessage({ id: 'x', direction })?.direction);
      }),
    );
  });
});

describe('the phone numbers of a contact', () => {
  it('are the values of its top-level fields that have E.164 form', () => {
    const contact = parseContact({
      id: 1,
      phoneNumber: '+15551234567',
      mobile: '+4915112345678',
      name: '555 1234567',
      short: '+123',
      zero: '+0123456789',
      nested: { number: '+15550001111' },
    });
    expect(contact?.id).toBe('1');
    expect(contact === undefined ? [] : phoneNumbersOf(contact)).toEqual(['+15551234567', '+4915112345678']);
  });
});
