import type { Event } from '#client';
import type { Tone } from '../kit/badge.js';

/** Maximum number of characters of a text in a row. */
const MAX_LENGTH = 160;

/** The tone in which each event type is shown. A missing or an unknown event type is a type error. */
const TONES: Readonly<Record<string, Tone>> = {
  'message.received': 'plain',
  'message.sent': 'plain',
  'message.created': 'plain',
  'message.delivered': 'good',
  'message.read': 'good',
  'message.updated': 'plain',
  'message.deleted': 'plain',
  'contact.created': 'plain',
  'contact.updated': 'plain',
  'contact.deleted': 'plain',
  'contact.resynced': 'warn',
  'send.accepted': 'plain',
  'send.unconfirmed': 'warn',
  'send.sent': 'good',
  'send.failed': 'bad',
  'send.unknown': 'warn',
  'send.cancelled': 'plain',
  'send.expired': 'bad',
  'upstream.unavailable': 'bad',
  'upstream.recovered': 'good',
  'account.suspect': 'bad',
  'webhook.disabled': 'bad',
  'webhook.test': 'plain',
} satisfies Record<Event['type'], Tone>;

/** Returns the tone in which an event type is shown. */
export function toneOf(type: string): Tone {
  return TONES[type] ?? 'plain';
}

/**
 * Returns the content of an event in one line. The text may come from outside, so it must be shown as text, not as
 * HTML.
 */
export function eventText({ data }: Event): string {
  if ('message' in data) return shortened(textOf(data.message));
  if ('send' in data) {
    const { phoneNumber, reason, message } = data.send;
    return shortened([phoneNumber, reason ?? message ?? ''].filter((part) => part !== '').join(' · '));
  }
  if ('contact' in data) return shortened(textOf(data.contact));
  if ('reason' in data) return shortened(data.reason);
  return 'webhookId' in data ? data.webhookId : '';
}

/** Returns the text of a message or the name of a contact, in whichever field the messaging service shows it. */
function textOf(object: object): string {
  const values = new Map<string, unknown>(Object.entries(object));
  const found = ['message', 'text', 'body', 'name', 'displayName', 'firstName', 'phoneNumber']
    .map((field) => values.get(field))
    .find((value) => typeof value === 'string' && value !== '');
  return typeof found === 'string' ? found : '';
}

function shortened(text: string): string {
  const line = text.slice(0, 4 * MAX_LENGTH).replace(/\s+/g, ' ');
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH)} …`;
}
