import { describe, expect, it } from '@jest/globals';
import { parseContact } from './contact.js';
import { parseReplyList } from './reply-list.js';
import { UpstreamReplyError } from './upstream-error.js';

const read = (text: string): { items: { id: string }[]; skipped: number } =>
  parseReplyList(text, 'contacts', parseContact);

describe('a list in a reply', () => {
  it.each([
    '[{"id":1},{"id":"b"}]',
    '{"contacts":[{"id":1},{"id":"b"}]}',
    '{"data":[{"id":1},{"id":"b"}]}',
    '{"items":[{"id":1},{"id":"b"}],"total":2}',
    '{"results":[{"id":1},{"id":"b"}]}',
    '{"data":{"contacts":[{"id":1},{"id":"b"}],"page":1}}',
  ])('is found where lists are known to be: %s', (text) => {
    expect(read(text).items.map(({ id }) => id)).toEqual(['1', 'b']);
  });

  it('may be empty', () => {
    expect(read('[]')).toEqual({ items: [], skipped: 0 });
    expect(read('{"contacts":[]}')).toEqual({ items: [], skipped: 0 });
  });

  it('is read but for the elements that cannot be', () => {
    const { items, skipped } = read('[null,{"id":1},42,"x",{"name":"no id"},[],{"id":2}]');
    expect(items.map(({ id }) => id)).toEqual(['1', '2']);
    expect(skipped).toBe(5);
  });

  it('keeps every digit of a numeric id, and leaves texts that look like one alone', () => {
    const text = String.raw`[{"id":9007199254740993},{"id" : 9007199254740992 ,"note":"\"id\":12345678901234567890}"}]`;
    const { items } = parseReplyList(text, 'contacts', parseContact);
    expect(items.map(({ id }) => id)).toEqual(['9007199254740993', '9007199254740992']);
    expect(items[1]?.raw['note']).toBe(String.raw`"id":12345678901234567890}`);
  });

  it.each([
    '',
    '<html></html>',
    '{"contacts":[{"id":1}',
    '{}',
    'null',
    '"contacts"',
    '{"contacts":null}',
    '{"contacts":{}}',
    '{"error":"internal","message":"Something went wrong"}',
    '{"other":[{"id":1}]}',
  ])('is no empty list where there is none: %p', (text) => {
    expect(() => read(text)).toThrow(UpstreamReplyError);
  });
});
