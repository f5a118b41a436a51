import type { Delivery, Webhook } from '#client';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { part, useApi } from '../api/api.js';
import { useRefresh } from '../api/queries.js';
import { to, useParameters, withParameters } from '../kit/address.js';
import { DeliveryBadge } from '../kit/badge.js';
import { ActionButton } from '../kit/button.js';
import { ShortId } from '../kit/copy.js';
import { ChoiceField } from '../kit/fields.js';
import { Empty, Loaded, Section } from '../kit/page.js';
import { type Column, None, Table } from '../kit/table.js';
import { DueTime, Time } from '../kit/time.js';
import { attemptText } from './attempt-text.js';
import { useDeliveries } from './webhook-reads.js';

const STATUSES = [
  { value: '', label: 'All deliveries' },
  { value: 'pending', label: 'Pending' },
  { value: 'succeeded', label: 'Succeeded' },
  { value: 'failed', label: 'Failed' },
  { value: 'missed', label: 'Missed' },
] as const;

/**
 * The deliveries of a webhook, one page at a time. The shown page is read again every 3 s. This takes only one
 * request, however far back the user goes. The status and the page are in the address.
 */
export function DeliveriesSection(props: {
  webhook: Webhook;
  onRetryPending: () => Promise<void>;
}): JSX.Element {
  const { webhook, onRetryPending } = props;
  const [{ status = '', cursor }, setParameters] = useParameters();
  const known = STATUSES.find(({ value }) => value === status)?.value ?? '';
  const deliveries = useDeliveries(webhook.id, { status: known, cursor });
  return (
    <Section
      title="Deliveries"
      actions={
        webhook.pending > 0 &&
        webhook.enabled && <ActionButton action={onRetryPending}>Retry all pending now</ActionButton>
      }
    >
      <div class="filters">
        <ChoiceField
          label="Status"
          value={known}
          choices={STATUSES}
          onChange={(value) => {
            setParameters({ status: value, cursor: undefined });
          }}
        />
      </div>
      <Loaded of={deliveries}>
        {({ deliveries: shown, next }) =>
          shown.length === 0 ? (
            <NoDeliveries status={known} hasMore={next !== null} />
          ) : (
            <DeliveryTable deliveries={shown} webhook={webhook} />
          )
        }
      </Loaded>
      {/* Also without deliveries: the page in the address may be one that can no longer be read. */}
      <Turn next={deliveries.data?.next ?? null} isFirst={cursor === undefined} />
    </Section>
  );
}

function NoDeliveries({ status, hasMore }: { status: string; hasMore: boolean }): JSX.Element {
  if (hasMore)
    return <Empty title={`No delivery on this page is ${status}.`}>Older pages may contain one.</Empty>;
  if (status !== '') return <Empty title={`No delivery is ${status}.`} />;
  return (
    <Empty title="No deliveries yet">
      <p>
        A delivery appears here with the next event that the webhook selects. A test event creates a delivery
        at once.
      </p>
    </Empty>
  );
}

/** Links to the next page and to the first one. The Back button of the browser leads to the previous page. */
function Turn({ next, isFirst }: { next: string | null; isFirst: boolean }): JSX.Element | null {
  const { path } = useLocation();
  const [parameters] = useParameters();
  if (next === null && isFirst) return null;
  return (
    <nav class="turn" aria-label="Pages of the deliveries">
      {!isFirst && (
        <a class="button" href={withParameters(path, { ...parameters, cursor: undefined })}>
          Newest
        </a>
      )}
      {next !== null && (
        <a class="button" href={withParameters(path, { ...parameters, cursor: next })}>
          Older
        </a>
      )}
    </nav>
  );
}

function DeliveryTable(props: { deliveries: readonly Delivery[]; webhook: Webhook }): JSX.Element {
  const { deliveries, webhook } = props;
  const api = useApi();
  const refresh = useRefresh();
  const maySeeContacts = api.may('messages:read');
  const columns: readonly Column<Delivery>[] = [
    { title: 'Event', cell: ({ id, eventType }) => <a href={to('deliveries', id)}>{eventType}</a> },
    { title: 'Status', cell: ({ status }) => <DeliveryBadge status={status} /> },
    {
      title: 'Contact',
      cell: ({ contactId }) =>
        contactId === null ? (
          <None />
        ) : maySeeContacts ? (
          <a href={to('conversations', contactId)}>
            <ShortId of={contactId} />
          </a>
        ) : (
          <ShortId of={contactId} />
        ),
    },
    { title: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts.length },
    { title: 'Last outcome', cell: (delivery) => <LastOutcome delivery={delivery} /> },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Next attempt', cell: (delivery) => <NextAttempt delivery={delivery} /> },
    {
      title: 'Retry',
      isTitleHidden: true,
      cell: ({ id, status }) => (
        <span class="row-action">
          <ActionButton
            disabledBecause={webhook.enabled ? undefined : 'The webhook is disabled. Enable it first.'}
            action={async () => {
              await api.change('POST', `/v1/deliveries/${part(id)}/retry`);
              await refresh('/v1/webhooks');
            }}
          >
            {status === 'pending' ? 'Retry now' : 'Deliver again'}
          </ActionButton>
        </span>
      ),
    },
  ];
  return <Table caption="Deliveries" columns={columns} rows={deliveries} keyOf={({ id }) => id} />;
}

function LastOutcome({ delivery: { attempts, reason } }: { delivery: Delivery }): JSX.Element {
  const last = attempts.at(-1);
  const text = last === undefined ? reason : attemptText(last);
  return text === null ? <None /> : <span class="outcome">{text}</span>;
}

function NextAttempt({ delivery }: { delivery: Delivery }): JSX.Element {
  const { status, nextAttemptAt, blockedBy } = delivery;
  if (blockedBy !== null) return <a href={to('deliveries', blockedBy)}>after an earlier delivery</a>;
  if (status === 'pending' && nextAttemptAt === null) return <span>now</span>;
  return <DueTime at={nextAttemptAt} />;
}
