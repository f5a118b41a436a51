import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseMessage, type UpstreamMessage } from '#upstream';
import { compareMessages } from '../diff/compared-message.js';
import { diffMessages, type DiffResult } from '../diff/diff.js';
import { messageFingerprintOf, messageFingerprintIncludingUrlSignatures } from './fingerprint.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { packKnownMessage, unpackKnownMessage } from '../snapshot/known-message-codec.js';
import {
  packVolatileMessageFields,
  unpackVolatileMessageFields,
  type VolatileMessageFields,
} from './volatile-message-fields.js';

type Fields = Record<string, unknown>;

function shown(id: string, fields: Fields): UpstreamMessage {
  const message = parseMessage({
    id,
    direction: 'inbound',
    message: 'Hi',
    attachments: [],
    status: {},
    ...fields,
  });
  if (message === undefined) throw new Error('unreadable');
  return message;
}
const picture = (path: string | number): Fields => ({
  attachments: [{ url: `https://a.example/${path}/f.jpg` }],
});

/** Reads one contact repeatedly and stores the state between reads, packed as in Redis. */
class Contact {
  readonly known = new Map<string, KnownMessage>();
  private volatility: VolatileMessageFields = new Map();
  /** Fields that became muted or unmuted, in order. */
  readonly changedMutes: string[] = [];
  writes = 0;

  /** Reads messages. Returns the events, each as `id:field,field`. */
  read(messages: readonly UpstreamMessage[]): string[] {
    const { events, known, volatile } = diffMessages({
      contactId: 'c',
      compared: compareMessages(messages, this.known),
      sends: new Map(),
      volatility: this.volatility,
      ...(this.known.size === 0 ? { firstReadEventRule: 'silent' as const } : {}),
    });
    for (const [id, message] of known) this.known.set(id, unpackKnownMessage(packKnownMessage(message)));
    this.writes += known.size;
    this.volatility = unpackVolatileMessageFields(packVolatileMessageFields(volatile.volatility));
    expect(this.volatility).toEqual(volatile.volatility);
    for (const field of volatile.newlyMuted) this.changedMutes.push(`muted ${field}`);
    for (const field of volatile.newlyUnmuted) this.changedMutes.push(`unmuted ${field}`);
    return events.map(nameOf);
  }

  /** Performs several reads. Returns the events of each read. */
  reads(count: number, messages: (n: number) => readonly UpstreamMessage[]): string[][] {
    return Array.from({ length: count }, (_, n) => this.read(messages(n)));
  }
}

function nameOf({ data }: DiffResult['events'][number]): string {
  const message = data['message'] as { id: string };
  return `${message.id}:${Object.keys(data['changes'] ?? {}).join()}`;
}
const ids = (count: number): string[] => Array.from({ length: count }, (_, i) => `m${i}`);
const countOf = (events: readonly string[][], id: string): number =>
  events.flat().filter((event) => event.startsWith(`${id}:`)).length;

describe('a message field that differs at every read', () => {
  const volatile = fc.constantFrom<(id: string, n: number) => Fields>(
    (id, n) => picture(`${id}-${n}`),
    (_, n) => ({ views: n }),
    (id, n) => ({ service: `${id}-${n}`, ...picture('still') }),
    (id, n) => ({ ...picture(`${id}-${n}`), views: n }),
  );

  it('causes at most two events and four writes per message, and is reported as muted only once', () => {
    fc.assert(
      fc.property(
        volatile,
        // With fewer messages, an undocumented field causes another event when it stops changing.
        fc.integer({ min: 4, max: 8 }),
        fc.integer({ min: 5, max: 10 }),
        (fields, count, reads) => {
          const contact = new Contact();
          const events = contact.reads(reads, (n) => ids(count).map((id) => shown(id, fields(id, n))));
          for (const id of ids(count)) expect(countOf(events, id)).toBeLessThanOrEqual(2);
          expect(new Set(contact.changedMutes).size).toBe(contact.changedMutes.length);
          // One write of the new message, two emitted changes, one write without the muted field.
          expect(contact.writes).toBeLessThanOrEqual(4 * count);
          const settled = contact.reads(reads, () => ids(count).map((id) => shown(id, fields(id, reads))));
          for (const id of ids(count)) expect(countOf(settled, id)).toBe(0);
        },
      ),
    );
  });

  it('causes at most two events per message, and one when it stops changing, if the field is undocumented and fewer than four messages have it', () => {
    for (const count of [1, 2, 3]) {
      const contact = new Contact();
      const events = contact.reads(20, (n) => ids(count).map((id) => shown(id, { views: n })));
      expect(ids(count).map((id) => countOf(events, id))).toEqual(ids(count).map(() => 2));
      expect(contact.changedMutes).toEqual(['muted other']);
      const still = contact.reads(10, () => ids(count).map((id) => shown(id, { views: 19 })));
      expect(still.flat()).toEqual(ids(count).map((id) => `${id}:other`));
      expect(contact.changedMutes).toEqual(['muted other', 'unmuted other']);
    }
  });

  it('causes an event at each change if fewer than four messages have it, and another field or a flag changes with it', () => {
    for (const change of [
      (n: number): Fields => ({ message: `edited ${n}` }),
      (n: number): Fields => ({ status: { read: n % 2 === 0 } }),
    ]) {
      const contact = new Contact();
      const events = contact.reads(20, (n) => ids(3).map((id) => shown(id, { edits: n, ...change(n) })));
      expect(ids(3).map((id) => countOf(events.slice(1), id))).toEqual([19, 19, 19]);
      expect(contact.changedMutes).toEqual([]);
    }
  });

  it('causes at most two events per message, even if new messages arrive and older messages are polled too', () => {
    const reads = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 10, maxLength: 25 });
    fc.assert(
      fc.property(reads, (deepPages) => {
        const contact = new Contact();
        const counts = new Map<string, number>();
        const read = (first: number, n: number): void => {
          const events = contact.read(ids(10).map((_, i) => shown(`m${first + i}`, picture(n))));
          for (const event of events) {
            if (first >= 100) counts.set(event, (counts.get(event) ?? 0) + 1);
          }
        };
        deepPages.forEach((deep, n) => {
          read(100 + Math.floor(n / 3), n);
          for (let page = 0; page < deep; page += 1) read(10 * page, n);
        });
        expect(Math.max(0, ...counts.values())).toBeLessThanOrEqual(2);
        expect(contact.changedMutes).toEqual(['muted attachments']);
      }),
      { numRuns: 50 },
    );
  });

  it('does not suppress events for changes of other fields or for new messages', () => {
    const contact = new Contact();
    const message = (id: string, n: number, fields: Fields = {}): UpstreamMessage =>
      shown(id, { ...picture(n), ...fields });
    contact.reads(8, (n) => ids(10).map((id) => message(id, n)));
    expect(contact.changedMutes).toEqual(['muted attachments']);
    const edited = contact.read(
      ids(11).map((id) => message(id, 9, id === 'm3' ? { message: 'edited' } : {})),
    );
    expect(edited).toEqual(['m10:', 'm3:message']);
    expect(
      contact.read(ids(11).map((id) => message(id, 10, id === 'm3' ? { message: 'edited' } : {}))),
    ).toEqual([]);
  });

  it('is unmuted without an event when the field stops changing; later changes are emitted at once', () => {
    const contact = new Contact();
    contact.reads(8, (n) => ids(10).map((id) => shown(id, picture(n))));
    expect(contact.reads(6, () => ids(10).map((id) => shown(id, picture('still')))).flat()).toEqual([]);
    expect(contact.changedMutes).toEqual(['muted attachments', 'unmuted attachments']);
    // Includes a message that was not read since the field stopped changing.
    const other = ids(10).map((id) => shown(id, picture(id === 'm4' ? 'other' : 'still')));
    expect(contact.read(other)).toEqual(['m4:attachments']);
    expect(contact.read(other)).toEqual([]);
  });
});

describe('a message field that changes before randomly chosen reads', () => {
  it('causes at most 12 events per message in 50 reads', () => {
    const stills = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 50, maxLength: 50 });
    fc.assert(
      fc.property(stills, (draws) => {
        const contact = new Contact();
        let n = 0;
        const events = draws.map((draw) => {
          if (draw > 0) n += 1;
          return contact.read(ids(6).map((id) => shown(id, picture(n))));
        });
        return countOf(events, 'm0') <= 12;
      }),
    );
  });
});

describe('edits of messages by people', () => {
  /** Messages that are edited before each read; none at more than two consecutive reads. */
  const edits = fc
    .array(fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { maxLength: 2 }), { minLength: 5, maxLength: 30 })
    .map((reads) => {
      const rows = new Map<number, number>();
      return reads.map((edited) =>
        ids(5).flatMap((_, i) => {
          const row = edited.includes(i) ? (rows.get(i) ?? 0) + 1 : 0;
          rows.set(i, row > 2 ? 0 : row);
          return row === 1 || row === 2 ? [i] : [];
        }),
      );
    });

  it('are each emitted at the next read if no message differs at three reads in a row', () => {
    fc.assert(
      fc.property(edits, fc.integer({ min: 3, max: 5 }), (reads, count) => {
        const contact = new Contact();
        const texts = ids(count).map(() => 0);
        const page = (): UpstreamMessage[] =>
          ids(count).map((id, i) => shown(id, { message: `${texts[i] ?? 0}` }));
        contact.read(page());
        for (const edited of reads) {
          const here = edited.filter((i) => i < count);
          for (const i of here) texts[i] = (texts[i] ?? 0) + 1;
          expect(contact.read(page()).sort()).toEqual(here.map((i) => `m${i}:message`));
        }
        expect(contact.changedMutes).toEqual([]);
      }),
    );
  });

  it('cause an event with the final text after the edits stop, even if the text differed at many reads in a row', () => {
    const edited = fc.array(fc.boolean(), { maxLength: 30 });
    fc.assert(
      fc.property(edited, fc.integer({ min: 1, max: 3 }), (reads, count) => {
        const contact = new Contact();
        let [text, emittedText] = [0, 0];
        const read = (): void => {
          const events = contact.read(ids(count).map((id) => shown(id, { message: `${text}` })));
          if (events.length > 0) emittedText = text;
        };
        read();
        for (const isEdited of reads) {
          if (isEdited) text += 1;
          read();
        }
        for (let n = 0; n < 5; n += 1) read();
        expect(emittedText).toBe(text);
      }),
    );
  });

  it('cause two events per message if every message is edited twice, with a read after each edit', () => {
    const contact = new Contact();
    const events = contact.reads(9, (n) =>
      ids(20).map((id) => shown(id, picture(n < 3 ? 0 : n < 4 ? 1 : 2))),
    );
    expect(events.map(({ length }) => length)).toEqual([0, 0, 0, 20, 20, 0, 0, 0, 0]);
  });
});

describe('message fingerprints that an older build stored', () => {
  const signed = (n: number, more: Fields = {}): UpstreamMessage =>
    shown('m', { attachments: [{ url: `https://a.example/f.jpg?Expires=${n}&Signature=${n}` }], ...more });

  /** Returns a contact whose message was stored by a build that did not leave out signatures. */
  function storedBefore(message: UpstreamMessage): Contact {
    const contact = new Contact();
    contact.read([message]);
    const known = contact.known.get('m');
    if (known === undefined) throw new Error('unknown');
    contact.known.set('m', { ...known, fingerprint: messageFingerprintIncludingUrlSignatures(message) });
    return contact;
  }

  it('cause one event when the signature of an attachment URL first changes, and none at later changes', () => {
    const contact = storedBefore(signed(1));
    expect(contact.read([signed(1)])).toEqual([]);
    expect(contact.read([signed(2)])).toEqual(['m:attachments']);
    expect(contact.read([signed(3)])).toEqual([]);
  });

  it('are sufficient to find out which field of an edited message changed', () => {
    expect(storedBefore(signed(1)).read([signed(1, { message: 'edited' })])).toEqual(['m:message']);
  });

  it('equal the fingerprints of this build bit for bit if no URL is signed', () => {
    const raw = {
      id: 'm',
      from: '+15550000000',
      to: '+15551234567',
      direction: 'inbound',
      message: 'See https://a.example/?sig=1',
      timestamp: '2026-01-01T00:00:00.000Z',
      attachments: [{ id: 'f', url: 'https://files.example/f.jpg?w=200', size: 7 }],
      service: 'SMS',
      status: { read: false, delivered: true },
      views: 3,
    };
    const others = [17641, 33780, 30322, 37948, 22746];
    const unsigned = { high: -1474385928, low: -714927025, fields: [...others, 8404, 42639, 24634, 50188] };
    expect(messageFingerprintOf({ raw })).toEqual(unsigned);
    const url = 'https://files.example/f.jpg?w=200&X-Amz-Date=20260101T000000Z&X-Amz-Signature=ab12';
    const signedRaw = { ...raw, attachments: [{ id: 'f', url, size: 7 }] };
    expect(messageFingerprintIncludingUrlSignatures({ raw: signedRaw })).toEqual({
      high: -1478927685,
      low: 1343406900,
      fields: [...others, 10494, 42639, 24634, 50188],
    });
    expect(messageFingerprintOf({ raw: signedRaw })).toEqual({ ...unsigned, signed: true });
  });
});

describe('the stored list of message fields that change at every read', () => {
  it('takes no bytes if there are no such fields, else about 20 bytes per field', () => {
    expect(packVolatileMessageFields(new Map()).length).toBe(0);
    const contact = new Contact();
    contact.reads(8, (n) => ids(10).map((id) => shown(id, picture(n))));
    const samples = Array.from({ length: 4 }, () => ({ elementHash: 0xff_ff, value: 0xff_ff }));
    const streak = { length: 4, unchangedReads: 4, muted: true, isCommon: true, missedReads: 3, samples };
    expect(packVolatileMessageFields(new Map([[8, streak]])).length).toBe(20);
  });

  it('counts as empty if its bytes are damaged or have a different version', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const read = unpackVolatileMessageFields(Buffer.from(bytes));
        if (read.size > 0)
          expect([...packVolatileMessageFields(read)].length).toBeLessThanOrEqual(bytes.length);
      }),
    );
    expect(unpackVolatileMessageFields(Buffer.from([2, 1, 1, 0]))).toEqual(new Map());
    expect(unpackVolatileMessageFields(Buffer.from([1, 1, 0x10]))).toEqual(new Map());
    expect(unpackVolatileMessageFields(undefined)).toEqual(new Map());
  });

  it('keeps a field muted, and shortens its streak, if an older build stored a longer streak than this build does', () => {
    const [field, streak] = [...unpackVolatileMessageFields(Buffer.from([1, 0x11, 0x70, 0]))][0] ?? [];
    expect([field, streak?.muted, streak?.length]).toEqual([1, true, 4]);
  });
});
