import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { to, withParameters } from '../kit/address.js';
import { type Column, None, Table } from '../kit/table.js';
import { durationText, numberText } from '../kit/text.js';
import { Time } from '../kit/time.js';
import { summaryOf, useRecentDeliveries } from './recent-deliveries.js';
import { nameOf, WebhookBadge } from './webhook-state.js';

/** Address of the deliveries of a webhook with a status. */
export function deliveriesHref(webhookId: string, status?: string): string {
  return withParameters(to('webhooks', webhookId), { status });
}

const COLUMNS: readonly Column<Webhook>[] = [
  { title: 'Webhook', cell: (webhook) => <Name webhook={webhook} /> },
  { title: 'State', cell: (webhook) => <WebhookBadge webhook={webhook} /> },
  { title: 'Success', isNumber: true, cell: ({ id }) => <SuccessFact webhookId={id} /> },
  { title: 'Delay', isNumber: true, cell: ({ id }) => <DelayFact webhookId={id} /> },
  {
    title: 'Backlog',
    isNumber: true,
    cell: ({ id, pending }) => <a href={deliveriesHref(id, 'pending')}>{numberText(pending)}</a>,
  },
  {
    title: 'Last success',
    cell: ({ id, lastSuccessAt }) =>
      lastSuccessAt === null ? (
        <span class="quiet">never</span>
      ) : (
        <a href={deliveriesHref(id, 'succeeded')}>
          <Time at={lastSuccessAt} />
        </a>
      ),
  },
];

/** Webhooks in a table. Each number leads to the deliveries behind it. */
export function WebhookTable({ webhooks }: { webhooks: readonly Webhook[] }): JSX.Element {
  return <Table caption="Webhooks" columns={COLUMNS} rows={webhooks} keyOf={({ id }) => id} />;
}

function Name({ webhook }: { webhook: Webhook }): JSX.Element {
  return (
    <div class="webhook-name">
      <a href={to('webhooks', webhook.id)}>{nameOf(webhook)}</a>
      {webhook.description !== null && <span class="quiet">{webhook.url}</span>}
    </div>
  );
}

/**
 * The share of the latest deliveries that succeeded. The share is rounded down, so that 100 % means that all
 * succeeded.
 */
export function SuccessFact({ webhookId }: { webhookId: string }): JSX.Element {
  const { data } = useRecentDeliveries(webhookId);
  if (data === undefined) return <span class="quiet">…</span>;
  const { count, succeeded, failed } = summaryOf(data.deliveries);
  if (count === 0) return <None />;
  const status = succeeded === count ? 'succeeded' : failed > 0 ? 'failed' : 'pending';
  return (
    <span class="measure">
      <a href={deliveriesHref(webhookId, status)}>{Math.floor((100 * succeeded) / count)} %</a>{' '}
      <span class="quiet">of the last {count}</span>
    </span>
  );
}

/** How long the latest deliveries took until they succeeded. */
export function DelayFact({ webhookId }: { webhookId: string }): JSX.Element {
  const { data } = useRecentDeliveries(webhookId);
  if (data === undefined) return <span class="quiet">…</span>;
  const { delayMs, succeeded } = summaryOf(data.deliveries);
  if (delayMs === undefined) return <None />;
  return (
    <span class="measure">
      <a href={deliveriesHref(webhookId, 'succeeded')}>{durationText(delayMs)}</a>{' '}
      <span class="quiet">median of {succeeded}</span>
    </span>
  );
}
