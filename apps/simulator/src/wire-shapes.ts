import type { Fault } from './fault-kinds.js';
import type { Json, JsonObject } from './json.js';
import type { Settings } from './settings.js';
import type { Contact, Message } from './world/entities.js';

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
export function contactOnWire(contact: Contact, settings: ReadonlySettings): JsonObject {
  const shown: JsonObject = { id: idOnWire(contact.id, settings), name: contact.name };
  if (settings.contactPhoneField !== null) shown[settings.contactPhoneField] = contact.phoneNumber;
  if (settings.extraContactFields) {
    const last = contact.messages.at(-1);
    shown['lastMessageAt'] = last === undefined ? null : (timestampOnWire(last.timestamp, settings) ?? null);
    shown['unreadCount'] = contact.unread;
  }
  return Object.assign(shown, contact.fields, deepFieldOf(contact.id, settings));
}

/** Returns a message as upstream shows it. */
export function messageOnWire(message: Message, settings: ReadonlySettings): JsonObject {
  const shown: JsonObject = {
    id: idOnWire(message.id, settings),
    from: message.from,
    to: message.to,
    direction: directionOnWire(message.direction, settings),
    message: message.text,
  };
  const timestamp = timestampOnWire(message.timestamp, settings);
  if (timestamp !== undefined) shown['timestamp'] = timestamp;
  const attachments = attachmentsOnWire(message.attachments, settings);
  if (attachments !== undefined) shown['attachments'] = attachments;
  shown['service'] = message.service;
  shown['status'] = { read: message.read, delivered: message.delivered };
  if (settings.extraMessageFields) {
    shown['conversationId'] = `conversation-${message.contact.serial}`;
    shown['revision'] = message.revision;
  }
  return Object.assign(shown, message.fields, deepFieldOf(message.id, settings));
}

function deepFieldOf(id: string, { deepField }: ReadonlySettings): JsonObject {
  return deepField?.ids.includes(id) === true ? { nested: `${DEEP_MARK}${deepField.levels}` } : {};
}

/**
 * Replaces the marks of nested values in JSON text. Works on text, because serialising such a deep object
 * could overflow the stack.
 */
export function withDeepValues(json: string): string {
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
export function inConfiguredShape(items: readonly Json[], shape: string): Json {
  return shape === 'array' ? [...items] : { [shape]: [...items] };
}

/** Returns the items as a fault damages them. */
export function damaged(items: readonly JsonObject[], fault: Fault | null): Json[] {
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

function idOnWire(id: string, settings: ReadonlySettings): Json {
  if (settings.idType === 'string' || !/^[1-9]\d{0,14}$/.test(id)) return id;
  return Number(id);
}

function directionOnWire(direction: string, settings: ReadonlySettings): string {
  if (direction === 'inbound') return settings.directionValues.inbound;
  if (direction === 'outbound') return settings.directionValues.outbound;
  return direction;
}

function timestampOnWire(timestamp: number, settings: ReadonlySettings): Json | undefined {
  switch (settings.timestampFormat) {
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

function attachmentsOnWire(attachments: readonly JsonObject[], settings: ReadonlySettings): Json | undefined {
  switch (settings.attachmentShape) {
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
