import type { Event } from '#client';
import type { Tone } from '../kit/badge.js';

/** Maximum number of characters of a text in a row. */
const MAX_LENGTH = 160;

const GOOD = new Set(['message.delivered', 'message.read', 'send.sent', 'upstream.recovered']);
const BAD = new Set([
  'send.failed',
  'send.expired',
  'upstream.unavailable',
  'webhook.disabled',
  'account.suspect',
]);
const WARN = new Set(['send.unknown', 'send.unconfirmed', 'contact.resynced']);

/** Returns the tone in which an event type is shown. */
export function toneOf(type: string): Tone {
  if (BAD.has(type)) return 'bad';
  if (WARN.has(type)) return 'warn';
  return GOOD.has(type) ? 'good' : 'plain';
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
