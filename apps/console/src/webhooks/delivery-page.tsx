import type { Delivery, Event, Webhook } from '#client';
import type { JSX } from 'preact';
import { useRoute } from 'preact-iso';
import { isNotFound, part, useApi } from '../api/api.js';
import { useRead, useRefresh } from '../api/queries.js';
import { to } from '../kit/address.js';
import { DeliveryBadge } from '../kit/badge.js';
import { ActionButton } from '../kit/button.js';
import { Id } from '../kit/copy.js';
import { Empty, Loaded, Page, Section } from '../kit/page.js';
import { Facts } from '../kit/table.js';
import { DueTime, Time } from '../kit/time.js';
import { AttemptList } from './attempt-list.js';
import { attemptText, isSuccess } from './attempt-text.js';
import { SentRequest } from './sent-request.js';
import { nameOf } from './webhook-state.js';

/** A delivery: the event, what was sent, and every attempt with its reply. */
export function DeliveryPage(): JSX.Element {
  const { id = '' } = useRoute().params;
  return <OneDelivery key={id} id={id} />;
}

function OneDelivery({ id }: { id: string }): JSX.Element {
  const delivery = useRead<Delivery>(`/v1/deliveries/${part(id)}`, {}, { everyMs: 3_000 });
  const { data } = delivery;
  const webhook = useRead<Webhook>(
    `/v1/webhooks/${part(data?.webhookId ?? '')}`,
    {},
    { isEnabled: data !== undefined },
  ).data;
  if (isNotFound(delivery.error))
    return (
      <Page title="Delivery not found" back={{ href: to('webhooks'), label: 'Webhooks' }}>
        <Empty title="The account has no delivery with this id.">
          <p>Deliveries are deleted some time after they ended, and with their webhook.</p>
        </Empty>
      </Page>
    );
  return (
    <Page
      title={data === undefined ? 'Delivery' : `Delivery of ${data.eventType}`}
      back={
        data === undefined
          ? { href: to('webhooks'), label: 'Webhooks' }
          : {
              href: to('webhooks', data.webhookId),
              label: webhook === undefined ? 'Webhook' : nameOf(webhook),
            }
      }
      actions={data !== undefined && <Retry delivery={data} webhook={webhook} />}
    >
      <Loaded of={delivery}>
        {(shown) => (
          <>
            <DeliveryFacts delivery={shown} webhook={webhook} />
            <Section title="Attempts">
              <AttemptList attempts={shown.attempts} />
            </Section>
            <Request delivery={shown} webhook={webhook} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Retry({ delivery, webhook }: { delivery: Delivery; webhook: Webhook | undefined }): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  return (
    <ActionButton
      look={delivery.status === 'succeeded' ? 'normal' : 'primary'}
      disabledBecause={
        webhook?.enabled === false ? 'The webhook is disabled. Enable it on its page first.' : undefined
      }
      done="The delivery is attempted now."
      action={async () => {
        await api.change('POST', `/v1/deliveries/${part(delivery.id)}/retry`);
        await refresh('/v1/deliveries', '/v1/webhooks');
      }}
    >
      {delivery.status === 'pending' ? 'Retry now' : 'Deliver again'}
    </ActionButton>
  );
}

function DeliveryFacts(props: { delivery: Delivery; webhook: Webhook | undefined }): JSX.Element {
  const { delivery, webhook } = props;
  const { id, eventId, eventType, contactId, status, blockedBy } = delivery;
  const api = useApi();
  return (
    <Section title="Details">
      <Facts
        of={[
          ['Status', <DeliveryBadge key="status" status={status} />],
          ['Reason', delivery.reason ?? lastFault(delivery)],
          [
            'Event',
            <span key="event" class="actions">
              {eventType}
              {api.may('events:read') ? (
                <a href={to('events', eventId)}>
                  <code>{eventId}</code>
                </a>
              ) : (
                <code>{eventId}</code>
              )}
            </span>,
          ],
          [
            'Webhook',
            <a key="webhook" href={to('webhooks', delivery.webhookId)}>
              {webhook === undefined ? delivery.webhookId : nameOf(webhook)}
            </a>,
          ],
          [
            'Contact',
            contactId === null ? null : api.may('messages:read') ? (
              <a href={to('conversations', contactId)}>
                <code>{contactId}</code>
              </a>
            ) : (
              <code>{contactId}</code>
            ),
          ],
          [
            'Waits for',
            blockedBy === null ? null : (
              <a href={to('deliveries', blockedBy)}>an earlier delivery of the contact</a>
            ),
          ],
          ['Created', <Time key="created" at={delivery.createdAt} />],
          ['Next attempt', delivery.nextAttemptAt === null ? null : <DueTime at={delivery.nextAttemptAt} />],
          ['Ended', delivery.finishedAt === null ? null : <Time at={delivery.finishedAt} />],
          ['Id', <Id key="id" of={id} />],
        ]}
      />
    </Section>
  );
}

/** Why the last attempt failed. Shown only while the delivery has no reason of its own. */
function lastFault({ attempts }: Delivery): string | undefined {
  const last = attempts.at(-1);
  return last === undefined || isSuccess(last) ? undefined : `The last attempt failed: ${attemptText(last)}`;
}

/** The request of the delivery, as far as the API key may see it and the event is kept. */
function Request({ delivery, webhook }: { delivery: Delivery; webhook: Webhook | undefined }): JSX.Element {
  const api = useApi();
  const mayReadEvents = api.may('events:read');
  const event = useRead<Event>(`/v1/events/${part(delivery.eventId)}`, {}, { isEnabled: mayReadEvents });
  return (
    <Section title="Request">
      {!mayReadEvents ? (
        <p class="quiet">The API key may not read events (events:read), so the body is not shown.</p>
      ) : isNotFound(event.error) ? (
        <p class="quiet">The event is no longer kept, so the body is not known.</p>
      ) : (
        <Loaded of={event}>
          {(read) => <SentRequest event={read} webhook={webhook} attempts={delivery.attempts} />}
        </Loaded>
      )}
    </Section>
  );
}
