import { describe, expect, it } from '@jest/globals';
import {
  array,
  assert,
  dictionary,
  type JsonValue,
  jsonValue,
  nat,
  oneof,
  option,
  property,
  record,
  string,
} from 'fast-check';
import { parseContact } from './contact.js';
import { findListInReply } from './reply-envelope.js';
import { parseJsonReply } from './reply-json.js';
import { parseReplyList, ReplyListReader } from './reply-list.js';
import { UpstreamReplyUnreadableError, UpstreamReplyTooLargeError } from '../upstream-error.js';

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
  ])('is found in every usual JSON structure: %s', (text) => {
    expect(read(text).items.map(({ id }) => id)).toEqual(['1', 'b']);
  });

  it('may be empty', () => {
    expect(read('[]')).toEqual({ items: [], skipped: 0 });
    expect(read('{"contacts":[]}')).toEqual({ items: [], skipped: 0 });
  });

  it('is read without its unreadable elements', () => {
    const { items, skipped } = read('[null,{"id":1},42,"x",{"name":"no id"},[],{"id":2}]');
    expect(items.map(({ id }) => id)).toEqual(['1', '2']);
    expect(skipped).toBe(5);
  });

  it('keeps every digit of a numeric id, and does not change a text that quotes JSON with a numeric id', () => {
    const text = String.raw`[{"id":9007199254740993},{"id" : 9007199254740992 ,"note":"\"id\":12345678901234567890}"}]`;
    const { items } = parseReplyList(text, 'contacts', parseContact);
    expect(items.map(({ id }) => id)).toEqual(['9007199254740993', '9007199254740992']);
    expect(items[1]?.raw['note']).toBe(String.raw`"id":12345678901234567890}`);
  });

  it('cannot be read if another field of the reply contains a million nested objects', () => {
    const deep = '{"a":'.repeat(1_000_000);
    expect(() => read(`{"contacts":[],"x":${deep}1${'}'.repeat(1_000_000)}}`)).toThrow(
      UpstreamReplyUnreadableError,
    );
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
    '[\0\0\0]',
    '[,]',
    '[{"id":1},]',
    '[{"id":1} {"id":2}]',
    '[{"id":1}}',
    '[{"id":1}]]',
    '[]"',
  ])('is rejected, and not read as an empty list, if missing or invalid: %p', (text) => {
    expect(() => read(text)).toThrow(UpstreamReplyUnreadableError);
  });
});

const nested = (depth: number): string =>
  `{"id":"deep","x":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

describe('a nested element', () => {
  it('of depth 64 is readable', () => {
    expect(read(`[${nested(64)}]`)).toMatchObject({ items: [{ id: 'deep' }], skipped: 0 });
  });

  it.each([65, 4_000, 1_000_000])(
    'of depth %d is unreadable, and does not affect other elements of the list',
    (depth) => {
      const { items, skipped, unreadable } = parseReplyList(
        `[{"id":1},${nested(depth)},{"id":2},${nested(depth + 1)}]`,
        'contacts',
        parseContact,
      );
      expect(items.map(({ id }) => id)).toEqual(['1', '2']);
      expect(skipped).toBe(2);
      // The texts that identify the two elements are short and different.
      expect(new Set(unreadable).size).toBe(2);
      expect(unreadable?.every((text) => text.length < 1_000)).toBe(true);
    },
  );
});

describe('a reply whose lists together have more elements than the maximum', () => {
  it.each(['[1,2,3]', '{"contacts":[1],"others":[2,3]}', '[{"id":1},[],"x"]'])(
    'is rejected as too large: %s',
    (text) => {
      expect(() => parseReplyList(text, 'contacts', parseContact, 2)).toThrow(UpstreamReplyTooLargeError);
      expect(() => parseReplyList(text, 'contacts', parseContact, 2)).toThrow('more than 2 elements');
      expect(() => parseReplyList(text, 'contacts', parseContact, 3)).not.toThrow();
    },
  );
});

describe('a reply that arrives in chunks', () => {
  const plain = jsonValue({ maxDepth: 4 });
  const lists = array(
    oneof({ weight: 3, arbitrary: plain }, record({ id: oneof(nat(), string()), x: plain })),
  );
  /** Replies of all forms, with no list, one list or several lists. */
  const replies = oneof(
    lists,
    plain,
    dictionary(
      oneof(
        string(),
        ...['contacts', 'data', 'items', 'results', 'x'].map((name) =>
          record({ name: option(string()) }).map(() => name),
        ),
      ),
      oneof(
        lists,
        plain,
        dictionary(
          oneof(
            string(),
            nat(1).map((n) => ['contacts', 'x'][n] ?? ''),
          ),
          oneof(lists, plain),
        ),
      ),
    ),
  ) as ReturnType<typeof jsonValue>;

  /** Reads a reply as a whole, for comparison. */
  function readWhole(text: string): unknown {
    try {
      const { list } = findListInReply(parseJsonReply(text), 'contacts');
      return list.map((value) => parseContact(value)?.raw ?? 'unreadable');
    } catch (error) {
      if (error instanceof UpstreamReplyUnreadableError) return error.message;
      throw error;
    }
  }

  function readInPieces(text: string, size: number): unknown {
    const reader = new ReplyListReader<unknown>(
      'contacts',
      (value) => parseContact(value)?.raw ?? 'unreadable',
      1e6,
    );
    const bytes = Buffer.from(text);
    try {
      for (let at = 0; at < bytes.length; at += size) {
        // The memory of each piece is overwritten after the call, because a socket reuses its buffer, too.
        const piece = Buffer.from(bytes.subarray(at, at + size));
        reader.push(piece);
        piece.fill('?');
      }
      return reader.end().items;
    } catch (error) {
      if (error instanceof UpstreamReplyUnreadableError) return error.message.replace(/^.*: /, '');
      throw error;
    }
  }
  const written = (reply: JsonValue, indent: number): string => JSON.stringify(reply, null, indent);

  it('is read like a reply in one piece, wherever the chunks end and whatever JSON it contains', () => {
    assert(
      property(replies, nat(2), nat(6), (reply, indent, size) => {
        const text = written(reply, indent);
        const expected = readWhole(text);
        const shown = typeof expected === 'string' ? expected.replace(/^.*: /, '') : expected;
        expect(readInPieces(text, size + 1)).toEqual(shown);
      }),
      { numRuns: 500 },
    );
  });

  it('is rejected if it is incomplete, wherever it ends', () => {
    assert(
      property(lists, nat(1), nat(1_000), (list, enveloped, at) => {
        const text = written(enveloped === 1 ? { total: 1, data: { contacts: list } } : list, 0);
        const bytes = Buffer.from(text);
        expect(typeof readInPieces(bytes.subarray(0, at % bytes.length).toString(), 5)).toBe('string');
      }),
      { numRuns: 500 },
    );
  });

  it('with one wrong character is read or rejected like a reply in one piece', () => {
    assert(
      property(lists, nat(1_000), nat(8), (list, at, which) => {
        const text = written({ contacts: list }, 0);
        const place = at % text.length;
        const broken = text.slice(0, place) + ('[]{},:"x1'[which] ?? '') + text.slice(place + 1);
        const whole = readWhole(broken);
        if (typeof whole === 'string') expect(typeof readInPieces(broken, 7)).toBe('string');
        else expect(readInPieces(broken, 7)).toEqual(whole);
      }),
      { numRuns: 1_000 },
    );
  });
});
