import type { Fault } from './fault-kinds.js';
import type { Json, JsonObject } from './json.js';
import type { Settings } from './settings.js';
import type { Contact, Message } from './world/things.js';

type ReadonlySettings = Readonly<Settings>;

/**
 * A character that occurs in no message. Marks the position where the reply gets bytes that are not UTF-8.
 */
export const INVALID_UTF8_MARK = '\u{10FFFD}';

/**
 * A character that occurs in no message. Followed by a number, it stands for a value with that many levels.
 */
const DEEP_MARK = '\u{10FFFC}';

/** Returns a contact as upstream shows it. */
export function contactOnWire(contact: Contact, knobs: ReadonlySettings): JsonObject {
  const shown: JsonObject = { id: idOnWire(contact.id, knobs), name: contact.name };
  if (knobs.contactPhoneField !== null) shown[knobs.contactPhoneField] = contact.phoneNumber;
  if (knobs.extraContactFields) {
    const last = contact.messages.at(-1);
    shown['lastMessageAt'] = last === undefined ? null : (timestampOnWire(last.timestamp, knobs) ?? null);
    shown['unreadCount'] = contact.unread;
  }
  return Object.assign(shown, contact.fields, deepFieldOf(contact.id, knobs));
}

/** Returns a message as upstream shows it. */
export function messageOnWire(message: Message, knobs: ReadonlySettings): JsonObject {
  const shown: JsonObject = {
    id: idOnWire(message.id, knobs),
    from: message.from,
    to: message.to,
    direction: directionOnWire(message.direction, knobs),
    message: message.text,
  };
  const timestamp = timestampOnWire(message.timestamp, knobs);
  if (timestamp !== undefined) shown['timestamp'] = timestamp;
  const attachments = attachmentsOnWire(message.attachments, knobs);
  if (attachments !== undefined) shown['attachments'] = attachments;
  shown['service'] = message.service;
  shown['status'] = { read: message.read, delivered: message.delivered };
  if (knobs.extraMessageFields) {
    shown['conversationId'] = `conversation-${message.contact.serial}`;
    shown['revision'] = message.revision;
  }
  return Object.assign(shown, message.fields, deepFieldOf(message.id, knobs));
}

function deepFieldOf(id: string, { deepField }: ReadonlySettings): JsonObject {
  return deepField?.ids.includes(id) === true ? { nested: `${DEEP_MARK}${deepField.levels}` } : {};
}

/**
 * Replaces the marks of nested values in JSON text. Works on text, because serialising such a deep object
 * could overflow the stack.
 */
export function deepened(json: string): string {
  if (!json.includes(DEEP_MARK)) return json;
  return json.replace(
    /"\u{10FFFC}(\d+)"/gu,
    (_, levels) => `${'{"in":'.repeat(Number(levels))}null${'}'.repeat(Number(levels))}`,
  );
}

/**
 * Returns the flags of a message as one letter for the ledger: `-` none, `d` delivered, `r` read, `b` both.
 */
export function flagsLetter({ delivered, read }: Pick<Message, 'delivered' | 'read'>): string {
  if (delivered) return read ? 'b' : 'd';
  return read ? 'r' : '-';
}

/** Returns the list in the configured format. */
export function enveloped(items: readonly Json[], shape: string): Json {
  return shape === 'array' ? [...items] : { [shape]: [...items] };
}

/** Returns the items as a fault damages them. */
export function spoilt(items: readonly JsonObject[], fault: Fault | null): Json[] {
  const result: Json[] = [...items];
  if (fault?.kind === 'invalidUtf8') {
    const first = items[0];
    if (first !== undefined) {
      const field = typeof first['message'] === 'string' ? 'message' : 'name';
      const old = first[field];
      result[0] = { ...first, [field]: `${typeof old === 'string' ? old : ''}${INVALID_UTF8_MARK}` };
    }
  }
  if (fault?.kind === 'poisonMessage') {
    const position = Math.min(
      fault.position,
      Math.max(0, result.length - (fault.mode === 'replace' ? 1 : 0)),
    );
    result.splice(position, fault.mode === 'replace' ? 1 : 0, garbageFor(fault.garbage, items[position]));
  }
  return result;
}

function garbageFor(
  garbage: 'null' | 'number' | 'string' | 'array' | 'noId',
  item: JsonObject | undefined,
): Json {
  switch (garbage) {
    case 'null':
      return null;
    case 'number':
      return 42;
    case 'string':
      return 'garbage';
    case 'array':
      return [];
    case 'noId': {
      const fields = Object.entries(item ?? { message: 'a message without an id' });
      return Object.fromEntries(fields.filter(([field]) => field !== 'id'));
    }
  }
}

/** Encodes JSON text. Replaces the mark with bytes that are not UTF-8. */
export function invalidUtf8Bytes(json: string): Buffer {
  const bytes = Buffer.from(json);
  const mark = Buffer.from(INVALID_UTF8_MARK);
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1))
    bytes.fill(0xff, at, at + mark.length);
  return bytes;
}

function idOnWire(id: string, knobs: ReadonlySettings): Json {
  if (knobs.idType === 'string' || !/^[1-9]\d{0,14}$/.test(id)) return id;
  return Number(id);
}

function directionOnWire(direction: string, knobs: ReadonlySettings): string {
  if (direction === 'inbound') return knobs.directionValues.inbound;
  if (direction === 'outbound') return knobs.directionValues.outbound;
  return direction;
}

function timestampOnWire(timestamp: number, knobs: ReadonlySettings): Json | undefined {
  switch (knobs.timestampFormat) {
    case 'iso-Z':
      return new Date(timestamp).toISOString();
    case 'iso-offset':
      return new Date(timestamp + 2 * 3_600_000).toISOString().replace('Z', '+02:00');
    case 'no-millis':
      return new Date(timestamp).toISOString().replace(/\.\d{3}Z$/, 'Z');
    case 'epoch-ms':
      return timestamp;
    case 'absent':
      return undefined;
  }
}

function attachmentsOnWire(attachments: readonly JsonObject[], knobs: ReadonlySettings): Json | undefined {
  switch (knobs.attachmentShape) {
    case 'objects':
      return [...attachments];
    case 'strings':
      return attachments.map(({ url, name, id }) => {
        const best = url ?? name ?? id;
        return typeof best === 'string' ? best : JSON.stringify(best ?? null);
      });
    case 'absent':
      return undefined;
  }
}
