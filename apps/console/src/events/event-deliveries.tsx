import type { Delivery, DeliveryList, Event, Webhook, WebhookList } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { usePages, useRead } from '../api/queries.js';
import { to } from '../kit/address.js';
import { DeliveryBadge } from '../kit/badge.js';
import { Button } from '../kit/button.js';
import { Empty, Loaded, More, Section } from '../kit/page.js';
import { type Column, Table } from '../kit/table.js';
import { DueTime, Time } from '../kit/time.js';
import { attemptText } from '../webhooks/attempt-text.js';
import { nameOf } from '../webhooks/webhook-state.js';
import { SendAgainDialog } from './send-again-dialog.js';

/** Interval at which deliveries are read while they are shown, in milliseconds. */
const EVERY_MS = 3_000;

/** The deliveries of an event: which webhooks received it, and when. */
export function EventDeliveries({ event }: { event: Event }): JSX.Element {
  const deliveries = usePages<DeliveryList>(
    '/v1/deliveries',
    { eventId: event.id, limit: 100 },
    { everyMs: EVERY_MS },
  );
  const webhooks = useRead<WebhookList>('/v1/webhooks').data?.webhooks ?? [];
  const [isSending, setSending] = useState(false);
  return (
    <Section
      title="Deliveries"
      actions={
        webhooks.length > 0 && (
          <Button
            onClick={() => {
              setSending(true);
            }}
          >
            Send the event again to one webhook
          </Button>
        )
      }
    >
      <Loaded of={deliveries}>
        {({ pages }) => {
          const shown = pages.flatMap((page) => page.deliveries);
          return shown.length === 0 ? (
            <Empty title="The event has no deliveries.">
              <p>
                {webhooks.length === 0 ? (
                  <>
                    The account has no webhook. <a href={to('webhooks')}>Add a webhook</a>
                  </>
                ) : (
                  'No webhook selected the event, or its deliveries are no longer kept.'
                )}
              </p>
            </Empty>
          ) : (
            <DeliveryTable deliveries={shown} webhooks={webhooks} />
          );
        }}
      </Loaded>
      <More
        hasMore={deliveries.hasNextPage}
        isLoading={deliveries.isFetchingNextPage}
        onMore={() => deliveries.fetchNextPage()}
      />
      {isSending && (
        <SendAgainDialog
          eventId={event.id}
          webhooks={webhooks}
          onClose={() => {
            setSending(false);
          }}
        />
      )}
    </Section>
  );
}

function DeliveryTable(props: {
  deliveries: readonly Delivery[];
  webhooks: readonly Webhook[];
}): JSX.Element {
  const { deliveries, webhooks } = props;
  const columns: readonly Column<Delivery>[] = [
    {
      title: 'Webhook',
      cell: ({ webhookId }) => {
        const webhook = webhooks.find(({ id }) => id === webhookId);
        return (
          <a class="wrap" href={to('webhooks', webhookId)}>
            {webhook === undefined ? webhookId : nameOf(webhook)}
          </a>
        );
      },
    },
    { title: 'Status', cell: ({ status }) => <DeliveryBadge status={status} /> },
    { title: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts.length },
    {
      title: 'Last outcome',
      cell: ({ attempts, reason }) => {
        const last = attempts.at(-1);
        return <span class="wrap">{last === undefined ? (reason ?? '–') : attemptText(last)}</span>;
      },
    },
    { title: 'Last attempt', cell: ({ attempts }) => <Time at={attempts.at(-1)?.at} /> },
    { title: 'Next attempt', cell: ({ nextAttemptAt }) => <DueTime at={nextAttemptAt} /> },
    { title: 'Delivery', cell: ({ id }) => <a href={to('deliveries', id)}>Details</a> },
  ];
  return (
    <Table caption="Deliveries of the event" columns={columns} rows={deliveries} keyOf={({ id }) => id} />
  );
}
