import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useParameters } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { ChoiceField, SearchField } from '../kit/fields.js';
import { Empty, Loaded, More, Page } from '../kit/page.js';
import { NewWebhookDialog } from './new-webhook-dialog.js';
import { useLiveWebhooks, useWebhooks } from './webhook-reads.js';
import { nameOf, stateOf, type WebhookState } from './webhook-state.js';
import { WebhookTable } from './webhook-table.js';

/**
 * Number of webhooks that are shown at first, and that each “Show more” adds. Each webhook costs a request for its
 * success rate.
 */
const STEP = 20;

const FILTERS: readonly { value: string; label: string; states?: readonly WebhookState[] }[] = [
  { value: '', label: 'All webhooks' },
  { value: 'failing', label: 'Failing', states: ['failing'] },
  { value: 'disabled', label: 'Disabled', states: ['stopped', 'off'] },
  { value: 'ok', label: 'Not failing or disabled', states: ['ok', 'new'] },
];
/** Webhooks with trouble come first. */
const ORDER: readonly WebhookState[] = ['failing', 'stopped', 'ok', 'new', 'off'];

/** All webhooks, with how their deliveries go. */
export function WebhooksPage(): JSX.Element {
  const webhooks = useWebhooks();
  const [isAdding, setAdding] = useState(false);
  useLiveWebhooks();
  const add = (
    <Button
      look="primary"
      onClick={() => {
        setAdding(true);
      }}
    >
      Add a webhook
    </Button>
  );
  return (
    <Page title="Webhooks" actions={add}>
      <Loaded of={webhooks}>
        {({ webhooks: all }) =>
          all.length === 0 ? (
            <Empty title="No webhooks yet">
              <p>A webhook receives the events of the account, such as new messages, by HTTP.</p>
              {add}
            </Empty>
          ) : (
            <FilteredWebhooks all={all} />
          )
        }
      </Loaded>
      {isAdding && (
        <NewWebhookDialog
          onClose={() => {
            setAdding(false);
          }}
        />
      )}
    </Page>
  );
}

function FilteredWebhooks({ all }: { all: readonly Webhook[] }): JSX.Element {
  const [{ state = '', q = '' }, setParameters] = useParameters();
  const [shown, setShown] = useState(STEP);
  const states = FILTERS.find(({ value }) => value === state)?.states;
  const text = q.toLowerCase();
  const found = all
    .filter((webhook) => states?.includes(stateOf(webhook)) ?? true)
    .filter((webhook) => `${nameOf(webhook)} ${webhook.url} ${webhook.id}`.toLowerCase().includes(text))
    .sort((a, b) => ORDER.indexOf(stateOf(a)) - ORDER.indexOf(stateOf(b)));
  return (
    <>
      <div class="filters">
        <div class="field">
          <span class="label" aria-hidden="true">
            Search
          </span>
          <SearchField
            label="Search webhooks"
            placeholder="Description or URL"
            value={q}
            onSearch={(search) => {
              setParameters({ q: search });
            }}
          />
        </div>
        <ChoiceField
          label="State"
          value={state}
          choices={FILTERS}
          onChange={(value) => {
            setParameters({ state: value });
          }}
        />
      </div>
      {found.length === 0 ? (
        <Empty title="No webhook matches">
          <Button
            onClick={() => {
              setParameters({ state: '', q: '' });
            }}
          >
            Show all webhooks
          </Button>
        </Empty>
      ) : (
        <WebhookTable webhooks={found.slice(0, shown)} />
      )}
      <More
        hasMore={found.length > shown}
        isLoading={false}
        onMore={() => {
          setShown(shown + STEP);
        }}
      />
    </>
  );
}
