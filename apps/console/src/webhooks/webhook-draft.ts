import type { Faults } from '../kit/rejection.js';
import type { NewWebhook, Webhook } from '#client';
import { isOffered } from './event-types.js';

/** The event types that a form selects. */
export interface EventTypeChoice {
  isAll: boolean;
  /** Checked event types and patterns. */
  checked: readonly string[];
  /** Other patterns as the user types them, separated by spaces or commas. */
  others: string;
}

/** A webhook as a form edits it: texts as the user types them. */
export interface WebhookDraft {
  url: string;
  description: string;
  eventTypes: EventTypeChoice;
  /** One id per line. */
  contactIds: string;
  /** One header per line, in the form `Name: value`. */
  headers: string;
  maxConcurrency: string;
  rateLimitPerSecond: string;
  isOrdered: boolean;
  isEnabled: boolean;
}

/** The values of a form, as the API expects them. `null` means that a field has no value. */
export type WebhookValues = Required<Omit<NewWebhook, 'enabled' | 'ordered'>> & {
  ordered: boolean;
  enabled: boolean;
};

/** The choice of all event types. */
export const ALL_TYPES: EventTypeChoice = { isAll: true, checked: [], others: '' };

const EMPTY: WebhookDraft = {
  url: '',
  description: '',
  eventTypes: ALL_TYPES,
  contactIds: '',
  headers: '',
  maxConcurrency: '',
  rateLimitPerSecond: '',
  isOrdered: false,
  isEnabled: true,
};

/** Returns the values of the form for a webhook, or for a new one. */
export function draftOf(webhook?: Webhook): WebhookDraft {
  if (webhook === undefined) return EMPTY;
  return {
    url: webhook.url,
    description: webhook.description ?? '',
    eventTypes: choiceOf(webhook.eventTypes),
    contactIds: (webhook.contactIds ?? []).join('\n'),
    headers: Object.entries(webhook.headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
    maxConcurrency: webhook.maxConcurrency?.toString() ?? '',
    rateLimitPerSecond: webhook.rateLimitPerSecond?.toString() ?? '',
    isOrdered: webhook.ordered,
    isEnabled: webhook.enabled,
  };
}

function choiceOf(eventTypes: readonly string[] | null): EventTypeChoice {
  if (eventTypes === null || eventTypes.includes('*')) return ALL_TYPES;
  return {
    isAll: false,
    checked: eventTypes.filter(isOffered),
    others: eventTypes.filter((type) => !isOffered(type)).join(' '),
  };
}

/** Returns the chosen event types, or null for all of them. */
export function typesOf({ isAll, checked, others }: EventTypeChoice): string[] | null {
  return isAll ? null : [...checked, ...others.split(/[\s,]+/).filter((type) => type !== '')];
}

/** Returns the values of a form, and the faults that the API cannot find. */
export function valuesOf(draft: WebhookDraft): { values: WebhookValues; faults: Faults } {
  const faults: Record<string, string> = {};
  const eventTypes = typesOf(draft.eventTypes);
  if (eventTypes?.length === 0) faults['eventTypes'] = 'Choose at least one event type, or all events.';
  const numberOf = (field: 'maxConcurrency' | 'rateLimitPerSecond'): number | null => {
    const text = draft[field].trim();
    if (text !== '' && !Number.isFinite(Number(text))) faults[field] = 'Enter a number, or leave it empty.';
    return text === '' ? null : Number(text);
  };
  const contactIds = linesOf(draft.contactIds);
  const headers = new Map<string, string>();
  for (const line of linesOf(draft.headers)) {
    const end = line.indexOf(':');
    if (end < 1) faults['headers'] = `Write each header as “Name: value”. This line has no colon: ${line}`;
    else if (headers.has(line.slice(0, end).trim())) faults['headers'] = 'Write each header once.';
    else headers.set(line.slice(0, end).trim(), line.slice(end + 1).trim());
  }
  return {
    values: {
      url: draft.url.trim(),
      description: draft.description.trim() === '' ? null : draft.description.trim(),
      eventTypes,
      contactIds: contactIds.length === 0 ? null : contactIds,
      headers: headers.size === 0 ? null : Object.fromEntries(headers),
      maxConcurrency: numberOf('maxConcurrency'),
      rateLimitPerSecond: numberOf('rateLimitPerSecond'),
      ordered: draft.isOrdered,
      enabled: draft.isEnabled,
    },
    faults,
  };
}

/**
 * Returns only the values that differ, so that the change does not undo what others have changed in the meantime.
 */
export function changesBetween(before: WebhookValues, after: WebhookValues): Partial<WebhookValues> {
  const names = Object.keys(after) as (keyof WebhookValues)[];
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
