import type { Event, Send, SendAttempt, SendLookup } from '#client';

/** One step in the life of a send. */
export type SendStep =
  | { kind: 'created'; at: string }
  | { kind: 'scheduled'; at: string }
  | { kind: 'attempt'; at: string; attempt: SendAttempt; number: number }
  | { kind: 'lookup'; at: string; lookup: SendLookup; count: number }
  | { kind: 'event'; at: string; event: Event };

/** Order of steps at the same time. */
const RANKS: Readonly<Record<SendStep['kind'], number>> = {
  created: 0,
  scheduled: 1,
  attempt: 2,
  lookup: 3,
  event: 4,
};

/** Returns the steps in the life of a send, oldest first. */
export function stepsOf(send: Send, events: readonly Event[]): SendStep[] {
  const steps: SendStep[] = [
    { kind: 'created', at: send.createdAt },
    ...(send.status === 'scheduled' && send.sendAt !== null
      ? [{ kind: 'scheduled' as const, at: send.sendAt }]
      : []),
    ...send.attempts.map((attempt, i) => ({
      kind: 'attempt' as const,
      at: attempt.at,
      attempt,
      number: i + 1,
    })),
    ...(send.lookups ?? []).map((lookup) => ({ kind: 'lookup' as const, at: lookup.at, lookup, count: 1 })),
    ...events.map((event) => ({ kind: 'event' as const, at: event.timestamp, event })),
  ];
  return folded(steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at) || RANKS[a.kind] - RANKS[b.kind]));
}

/** Joins consecutive look-ups with the same outcome into one: the last one. */
function folded(steps: readonly SendStep[]): SendStep[] {
  const kept: SendStep[] = [];
  for (const step of steps) {
    const last = kept.at(-1);
    if (step.kind === 'lookup' && last?.kind === 'lookup' && isSame(step.lookup, last.lookup))
      kept[kept.length - 1] = { ...step, count: last.count + 1 };
    else kept.push(step);
  }
  return kept;
}

function isSame(one: SendLookup, other: SendLookup): boolean {
  const found = ({ outcome, candidates, contactIds, error }: SendLookup): string =>
    JSON.stringify([outcome, candidates, contactIds, error]);
  return found(one) === found(other);
}

const EVENTS: Readonly<Partial<Record<Event['type'], string>>> = {
  'send.accepted': 'The messaging service queued the message.',
  'send.unconfirmed': 'The message did not appear in time. Tidings keeps looking for it.',
  'send.sent': 'The message was sent.',
  'send.failed': 'The send failed.',
  'send.unknown': 'The outcome is unknown: the message was not found in time.',
  'send.cancelled': 'The send was cancelled.',
  'send.expired': 'The send expired.',
  'message.sent': 'The message appeared in the conversation.',
  'message.received': 'The message appeared in the conversation as received.',
  'message.created': 'The message appeared in the conversation, with an unknown direction.',
  'message.delivered': 'The message was delivered.',
  'message.read': 'The recipient read the message.',
  'message.updated': 'The messaging service changed the message.',
  'message.deleted': 'The message was deleted at the messaging service.',
};

/** Returns an event of a send as a sentence. */
export function eventSentence({ type, data }: Event): string {
  const text = EVENTS[type] ?? type;
  return 'duplicate' in data ? `${text} It is a second message of the same send.` : text;
}
