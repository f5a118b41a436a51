import type { Event, Send, SendAttempt, SendLookup, SendLookupCandidate } from '#client';
import type { ComponentChildren, JSX } from 'preact';
import { useApi } from '../api/api.js';
import { contactIdOf } from '../events/event-filter.js';
import { toneOf } from '../events/event-text.js';
import { to } from '../kit/address.js';
import type { Tone } from '../kit/badge.js';
import { countText } from '../kit/text.js';
import { Time } from '../kit/time.js';
import { attemptSentence, lookupSentence, readText } from './send-text.js';
import { eventSentence, type SendStep, stepsOf } from './send-timeline-entries.js';

/** What happened to a send, oldest first. */
export function SendTimeline({ send, events }: { send: Send; events: readonly Event[] }): JSX.Element {
  return (
    <ol class="steps">
      {stepsOf(send, events).map((step) => (
        <Step
          key={`${step.kind} ${step.at} ${step.kind === 'event' ? step.event.id : ''}`}
          step={step}
          reason={send.reason}
        />
      ))}
    </ol>
  );
}

function Step({ step, reason }: { step: SendStep; reason: string | null }): JSX.Element {
  switch (step.kind) {
    case 'created':
      return <Entry at={step.at} tone="plain" title="Tidings stored the send." />;
    case 'scheduled':
      return <Entry at={step.at} tone="plain" title="Tidings will send the message." />;
    case 'attempt':
      return <Attempt attempt={step.attempt} number={step.number} />;
    case 'lookup':
      return <Lookup lookup={step.lookup} count={step.count} />;
    case 'event':
      return <EventStep event={step.event} reason={reason} />;
  }
}

function Entry(props: { at: string; tone: Tone; title: string; children?: ComponentChildren }): JSX.Element {
  const { at, tone, title, children } = props;
  return (
    <li class={tone}>
      <Time at={at} always="exact" />
      <div>
        <strong>{title}</strong>
        {children}
      </div>
    </li>
  );
}

const ATTEMPT_TONES: Readonly<Record<SendAttempt['outcome'], Tone>> = {
  accepted: 'good',
  not_taken: 'warn',
  refused: 'bad',
  ambiguous: 'warn',
};

function Attempt({ attempt, number }: { attempt: SendAttempt; number: number }): JSX.Element {
  const { at, outcome, httpStatus, error } = attempt;
  return (
    <Entry at={at} tone={ATTEMPT_TONES[outcome]} title={`Attempt ${number}: ${attemptSentence(attempt)}`}>
      {httpStatus !== undefined && <p class="quiet">HTTP status {httpStatus}</p>}
      {error !== undefined && <p class="wrap">{error}</p>}
    </Entry>
  );
}

function Lookup({ lookup, count }: { lookup: SendLookup; count: number }): JSX.Element {
  const { at, outcome, since, contactIds, candidates, error } = lookup;
  const api = useApi();
  return (
    <Entry
      at={at}
      tone={outcome === 'found' ? 'good' : outcome === 'failed' ? 'bad' : 'warn'}
      title={`${count === 1 ? 'Look-up' : countText(count, 'look-up', 'look-ups')}: ${lookupSentence(lookup)}`}
    >
      <p class="quiet">
        {readText(lookup)} {contactIds.length > 0 && <Contacts ids={contactIds} />}
        Messages before <Time at={since} always="exact" /> were left out.
        {count > 1 && ' The last look-up is shown.'}
      </p>
      {error !== null && <p class="wrap">{error}</p>}
      {candidates.length > 0 && (
        <>
          <p>{countText(candidates.length, 'message has', 'messages have')} the same text:</p>
          <Candidates candidates={candidates} mayReadEvents={api.may('events:read')} />
        </>
      )}
    </Entry>
  );
}

function Contacts({ ids }: { ids: readonly string[] }): JSX.Element {
  return (
    <>
      {ids.map((id, i) => (
        <span key={id}>
          {i > 0 && ', '}
          <a href={to('conversations', id)}>{id}</a>
        </span>
      ))}
      .{' '}
    </>
  );
}

/** Messages that resemble a send. */
export function Candidates(props: {
  candidates: readonly SendLookupCandidate[];
  mayReadEvents: boolean;
}): JSX.Element {
  const { candidates, mayReadEvents } = props;
  return (
    <ul class="candidates">
      {candidates.map((candidate) => (
        <li key={candidate.messageId}>
          <Candidate candidate={candidate} mayReadEvents={mayReadEvents} />
        </li>
      ))}
    </ul>
  );
}

/** A message that a look-up found, and why it was not recorded as the message of the send. */
function Candidate(props: { candidate: SendLookupCandidate; mayReadEvents: boolean }): JSX.Element {
  const { contactId, messageId, sentAt, reason, sendId } = props.candidate;
  return (
    <>
      <span class="actions">
        {props.mayReadEvents ? (
          <a href={`${to('events')}?${new URLSearchParams({ messageId }).toString()}`}>Message {messageId}</a>
        ) : (
          <span>Message {messageId}</span>
        )}
        <Time at={sentAt} none="without a time" />
        <a href={to('conversations', contactId)}>Conversation of {contactId}</a>
        {sendId !== null && <a href={to('sends', sendId)}>Send of this message</a>}
      </span>
      <span class="wrap">{reason}</span>
    </>
  );
}

/** @param reason the reason that the page shows elsewhere; not repeated here */
function EventStep({ event, reason }: { event: Event; reason: string | null }): JSX.Element {
  const { id, type, timestamp, data } = event;
  const contactId = contactIdOf(event);
  const tone = toneOf(type);
  return (
    <Entry at={timestamp} tone={tone} title={eventSentence(event)}>
      {'send' in data && data.send.reason !== null && data.send.reason !== reason && (
        <p class="wrap">{data.send.reason}</p>
      )}
      <p class="quiet">
        Event <a href={to('events', id)}>{type}</a>
        {contactId !== undefined && 'message' in data && (
          <>
            {' '}
            · Message <code>{data.message.id}</code> of{' '}
            <a href={to('conversations', contactId)}>
              <code>{contactId}</code>
            </a>
          </>
        )}
      </p>
    </Entry>
  );
}
