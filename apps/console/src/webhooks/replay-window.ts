import type { NewReplay } from '#client';
import { type EventTypeChoice, typesOf } from './webhook-draft.js';

/** Which events a replay selects. */
export type ReplayScope = NonNullable<NewReplay['only']>;

/** A named start of the replayed period. With `custom`, the user chooses the times. */
export type ReplaySpan = 'trouble' | 'hour' | 'day' | 'week' | 'custom';

/** A replay as the form edits it. */
export interface ReplayDraft {
  span: ReplaySpan;
  /** Start in the form of a `datetime-local` field, for `custom`. */
  since: string;
  /** End in that form, for `custom`. Empty: now. */
  until: string;
  only: ReplayScope;
  eventTypes: EventTypeChoice;
}

const HOUR_MS = 3_600_000;
const SPANS_MS: Readonly<Record<'hour' | 'day' | 'week', number>> = {
  hour: HOUR_MS,
  day: 24 * HOUR_MS,
  week: 168 * HOUR_MS,
};
/**
 * Time before the first failure at which the replayed period begins, in milliseconds: an event is recorded some time
 * before its first attempt fails, and with a backlog this takes longer.
 */
const BEFORE_TROUBLE_MS = 300_000;

/**
 * Returns the request for a replay, or the faults of the form.
 * @param now time at which the spans end; the same for a preview and its replay, so that both select the same events
 * @param troubleSince when the webhook began to fail, for the span `trouble`
 */
export function replayOf(
  draft: ReplayDraft,
  now: number,
  troubleSince: string | undefined,
): { request: NewReplay } | { field: 'since' | 'until' | 'eventTypes'; fault: string } {
  const eventTypes = typesOf(draft.eventTypes);
  if (eventTypes?.length === 0)
    return { field: 'eventTypes', fault: 'Choose at least one event type, or all events.' };
  const since = sinceOf(draft, now, troubleSince);
  if (Number.isNaN(since)) return { field: 'since', fault: 'Enter the time of the first event.' };
  const until = draft.span === 'custom' && draft.until !== '' ? new Date(draft.until).getTime() : undefined;
  if (until !== undefined && !(until > since))
    return { field: 'until', fault: 'Enter a time after the start, or leave it empty.' };
  return {
    request: {
      since: new Date(since).toISOString(),
      only: draft.only,
      ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
      ...(eventTypes === null ? {} : { eventTypes }),
    },
  };
}

function sinceOf({ span, since }: ReplayDraft, now: number, troubleSince: string | undefined): number {
  if (span === 'custom') return new Date(since).getTime();
  if (span === 'trouble') return new Date(troubleSince ?? now).getTime() - BEFORE_TROUBLE_MS;
  return now - SPANS_MS[span];
}

/** Returns a point in time in the form of a `datetime-local` field, in the user's zone. */
export function localText(time: number): string {
  return new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
