import type { Event } from '#client';
import type { JSX } from 'preact';
import { useRoute } from 'preact-iso';
import { isNotFound, part, useApi } from '../api/api.js';
import { useRead } from '../api/queries.js';
import { to, withParameters } from '../kit/address.js';
import { Badge } from '../kit/badge.js';
import { Id } from '../kit/copy.js';
import { Json } from '../kit/json.js';
import { Empty, Loaded, Page, Section } from '../kit/page.js';
import { Facts } from '../kit/table.js';
import { Time } from '../kit/time.js';
import { EventDeliveries } from './event-deliveries.js';
import { contactIdOf, messageIdOf, sendIdOf } from './event-filter.js';
import { eventText, toneOf } from './event-text.js';

/** An event: its content, and its deliveries. */
export function EventPage(): JSX.Element {
  const { id = '' } = useRoute().params;
  return <OneEvent key={id} id={id} />;
}

const BACK = { href: to('events'), label: 'Events' };

function OneEvent({ id }: { id: string }): JSX.Element {
  const api = useApi();
  const event = useRead<Event>(`/v1/events/${part(id)}`);
  if (isNotFound(event.error))
    return (
      <Page title="Event not found" back={BACK}>
        <Empty title="The account has no event with this id.">
          <p>Events are deleted after some time.</p>
        </Empty>
      </Page>
    );
  return (
    <Page title={event.data === undefined ? 'Event' : event.data.type} back={BACK}>
      <Loaded of={event}>
        {(shown) => (
          <>
            <EventFacts event={shown} />
            {api.may('webhooks:manage') && <EventDeliveries event={shown} />}
            <Section title="Payload">
              <Json value={shown} label="the event" />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function EventFacts({ event }: { event: Event }): JSX.Element {
  const api = useApi();
  const { id, type, timestamp, sequence } = event;
  const [contactId, messageId, sendId] = [contactIdOf(event), messageIdOf(event), sendIdOf(event)];
  const mayRead = api.may('messages:read');
  return (
    <Section title="Details">
      <Facts
        of={[
          [
            'Type',
            <span key="type" class="actions">
              <Badge tone={toneOf(type)}>{type}</Badge>
              <a href={withParameters(to('events'), { types: type, from: 'start' })}>Events of this type</a>
            </span>,
          ],
          ['Recorded', <Time key="time" at={timestamp} />],
          ['Text', eventText(event)],
          [
            'Contact',
            contactId === undefined ? null : (
              <span class="actions">
                {mayRead ? (
                  <a href={to('conversations', contactId)}>
                    <code>{contactId}</code>
                  </a>
                ) : (
                  <code>{contactId}</code>
                )}
                <a href={withParameters(to('events'), { contactId })}>Events of the contact</a>
              </span>
            ),
          ],
          [
            'Message',
            messageId === undefined ? null : (
              <span class="actions">
                <code>{messageId}</code>
                <a href={withParameters(to('events'), { messageId })}>Events of the message</a>
              </span>
            ),
          ],
          [
            'Send',
            sendId === undefined ? null : (
              <span class="actions">
                {mayRead ? (
                  <a href={to('sends', sendId)}>
                    <code>{sendId}</code>
                  </a>
                ) : (
                  <code>{sendId}</code>
                )}
                <a href={withParameters(to('events'), { sendId })}>Events of the send</a>
              </span>
            ),
          ],
          ['Sequence', sequence],
          ['Id', <Id key="id" of={id} />],
        ]}
      />
    </Section>
  );
}
