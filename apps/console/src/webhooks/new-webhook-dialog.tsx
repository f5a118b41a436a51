import type { CreatedWebhook } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { useRefresh } from '../api/queries.js';
import { to } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { Code } from '../kit/copy.js';
import { Dialog } from '../kit/dialog.js';
import { VerifierTabs } from './verifier-tabs.js';
import { draftOf, type WebhookValues } from './webhook-draft.js';
import { WebhookForm } from './webhook-form.js';

const EMPTY = draftOf();

/** Adds a webhook, then shows its signing secret and how a receiver uses it. */
export function NewWebhookDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  const [created, setCreated] = useState<CreatedWebhook>();
  const create = async (values: WebhookValues): Promise<void> => {
    setCreated(await api.change<CreatedWebhook>('POST', '/v1/webhooks', values));
    await refresh('/v1/webhooks');
  };
  if (created === undefined)
    return (
      <WebhookForm
        title="Add a webhook"
        initial={EMPTY}
        isNew
        verb="Add the webhook"
        onSubmit={create}
        onClose={onClose}
      />
    );
  return (
    <Dialog title="Webhook added" onClose={onClose}>
      <div class="stack">
        <p>
          {created.enabled
            ? 'Tidings now delivers events to '
            : 'The webhook is disabled. Once you enable it, Tidings delivers events to '}
          <code class="wrap">{created.url}</code>.
        </p>
        <h3>Signing secret</h3>
        <Code text={created.secret} label="Signing secret" />
        <p class="quiet">
          Pass it to the receiver in the environment variable <code>WEBHOOK_SECRET</code>. The page of the
          webhook can show it again. Each time, the audit log records this.
        </p>
        <h3>Verify deliveries</h3>
        <VerifierTabs webhook={created} />
      </div>
      <footer>
        <Button onClick={onClose}>Close</Button>
        <a class="button primary" href={to('webhooks', created.id)}>
          Open the webhook
        </a>
      </footer>
    </Dialog>
  );
}
