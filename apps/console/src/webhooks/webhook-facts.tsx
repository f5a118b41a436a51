import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../kit/button.js';
import { Id } from '../kit/copy.js';
import { Section } from '../kit/page.js';
import { Facts } from '../kit/table.js';
import { countText } from '../kit/text.js';
import { Time } from '../kit/time.js';
import { DelayFact, SuccessFact } from './webhook-table.js';

/** Maximum number of contact ids that are shown. */
const MAX_CONTACTS = 10;

/** The settings of a webhook, and how its latest deliveries went. */
export function WebhookFacts({ webhook }: { webhook: Webhook }): JSX.Element {
  const { id, url, description, eventTypes, contactIds, headers, ordered } = webhook;
  return (
    <Section title="Details">
      <Facts
        of={[
          ['URL', <code key="url">{url}</code>],
          ['Description', description],
          ['Id', <Id key="id" of={id} />],
          ['Success', <SuccessFact key="success" webhookId={id} />],
          ['Delay', <DelayFact key="delay" webhookId={id} />],
          ['Last success', <Time key="last" at={webhook.lastSuccessAt} none="never" />],
          ['Events', eventTypes === null ? 'All' : eventTypes.join(', ')],
          ['Contacts', contactIds === null ? 'All' : contactsText(contactIds)],
          [
            'Order',
            ordered ? 'One event at a time for each contact, in order' : 'As fast as possible, in any order',
          ],
          ['Headers', <Headers key="headers" headers={headers} />],
          ['Simultaneous requests', webhook.maxConcurrency ?? 'The default of the installation'],
          ['Requests per second', webhook.rateLimitPerSecond ?? 'Without a limit'],
          ['Created', <Time key="created" at={webhook.createdAt} />],
          ['Changed', <Time key="changed" at={webhook.updatedAt} />],
        ]}
      />
    </Section>
  );
}

function contactsText(ids: readonly string[]): string {
  const rest = ids.length - MAX_CONTACTS;
  const shown = ids.slice(0, MAX_CONTACTS).join(', ');
  return rest > 0 ? `${shown} and ${countText(rest, 'other', 'others')}` : shown;
}

/** Headers are often credentials, so their values are shown only on demand. */
function Headers({ headers }: { headers: Webhook['headers'] }): JSX.Element {
  const [areShown, setShown] = useState(false);
  const entries = Object.entries(headers);
  if (entries.length === 0) return <>None</>;
  return (
    <div class="stack">
      {entries.map(([name, value]) => (
        <code key={name}>
          {name}: {areShown ? value : '••••'}
        </code>
      ))}
      <div>
        <Button
          onClick={() => {
            setShown(!areShown);
          }}
        >
          {areShown ? 'Hide the values' : 'Show the values'}
        </Button>
      </div>
    </div>
  );
}
