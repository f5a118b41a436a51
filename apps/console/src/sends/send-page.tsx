import type { Send } from '#client';
import { useQueryClient } from '@tanstack/preact-query';
import type { JSX } from 'preact';
import { useRoute } from 'preact-iso';
import { isNotFound, part, useApi } from '../api/api.js';
import { keyOf, useRead } from '../api/queries.js';
import { ALL_EVENTS } from '../events/event-filter.js';
import { useEventTail } from '../events/use-event-tail.js';
import { to, withParameters } from '../kit/address.js';
import { SendBadge } from '../kit/badge.js';
import { Button } from '../kit/button.js';
import { Empty, Failure, Loaded, Loading, Page, Section } from '../kit/page.js';
import { SendActions } from './send-actions.js';
import { SendFacts } from './send-facts.js';
import { statusSentence } from './send-text.js';
import { SendTimeline } from './send-timeline.js';
import { useLiveSends } from './use-live-sends.js';

/** A send: its status, what happened to it, and what can be done. */
export function SendPage(): JSX.Element {
  const { id = '' } = useRoute().params;
  return <OneSend key={id} id={id} />;
}

const BACK = { href: to('sends'), label: 'Sends' };

function OneSend({ id }: { id: string }): JSX.Element {
  const api = useApi();
  const queries = useQueryClient();
  const path = `/v1/sends/${part(id)}`;
  const send = useRead<Send>(path);
  useLiveSends(
    (update) => update.id === id,
    ({ status }) => {
      queries.setQueryData<Send>(keyOf(api, path), (shown) => shown && { ...shown, status });
    },
  );
  if (isNotFound(send.error))
    return (
      <Page title="Send not found" back={BACK}>
        <Empty title="The account has no send with this id.">
          <p>Sends are deleted some time after they ended.</p>
        </Empty>
      </Page>
    );
  return (
    <Page
      title={send.data === undefined ? 'Send' : `Send to ${send.data.phoneNumber}`}
      back={BACK}
      actions={send.data !== undefined && <SendActions send={send.data} />}
    >
      <Loaded of={send}>
        {(shown) => (
          <>
            <StatusSection send={shown} />
            <TimelineSection send={shown} />
            <SendFacts send={shown} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function StatusSection({ send }: { send: Send }): JSX.Element {
  const api = useApi();
  const { id, status, reason, contactId, phoneNumber } = send;
  return (
    <Section title="Status">
      <p class="status-line" role="status">
        <SendBadge status={status} /> <span>{statusSentence(send)}</span>
      </p>
      {reason !== null && (
        <p class="wrap">
          <span class="quiet">Reason:</span> {reason}
        </p>
      )}
      <p class="links">
        <a href={to('conversations', contactId ?? phoneNumber)}>Conversation</a>
        {api.may('events:read') && (
          <a href={withParameters(to('events'), { sendId: id })}>Events of the send</a>
        )}
        <a href={withParameters(to('sends'), { phoneNumber })}>Sends to this number</a>
      </p>
    </Section>
  );
}

function TimelineSection({ send }: { send: Send }): JSX.Element {
  const api = useApi();
  const mayReadEvents = api.may('events:read');
  const { tail, state } = useEventTail(
    { ...ALL_EVENTS, sendId: send.id },
    { isFromStart: true, stopsWhenFull: false, isEnabled: mayReadEvents },
  );
  return (
    <Section title="What happened">
      <SendTimeline send={send} events={state.rows} />
      {state.isReading && state.rows.length === 0 && <Loading />}
      {state.error !== undefined && <Failure error={state.error} retry={() => tail.readOn()} />}
      {state.hasMore && !state.isReading && state.error === undefined && (
        <p class="actions">
          <span class="quiet">The event log is long: only its older part was searched.</span>
          <Button onClick={() => void tail.readOn()}>Search further</Button>
        </p>
      )}
      {!mayReadEvents && (
        <p class="quiet">
          The API key may not read events (events:read), so times of delivery are not shown.
        </p>
      )}
    </Section>
  );
}
