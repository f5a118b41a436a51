import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { useRefresh } from '../api/queries.js';
import { useToasts } from '../kit/toasts.js';
import { changesBetween, draftOf, valuesOf, type WebhookValues } from './webhook-draft.js';
import { WebhookForm } from './webhook-form.js';

/** Changes the settings of a webhook. Sends only those that the user has changed. */
export function EditWebhookDialog({
  webhook,
  onClose,
}: {
  webhook: Webhook;
  onClose: () => void;
}): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  const toasts = useToasts();
  // The page reads the webhook repeatedly. The form keeps the values from its opening.
  const [initial] = useState(() => draftOf(webhook));
  const save = async (values: WebhookValues): Promise<void> => {
    const changes = changesBetween(valuesOf(initial).values, values);
    if (Object.keys(changes).length > 0) {
      await api.change('PATCH', `/v1/webhooks/${part(webhook.id)}`, changes);
      await refresh('/v1/webhooks');
      toasts.say('Saved');
    }
    onClose();
  };
  return (
    <WebhookForm
      title="Edit the webhook"
      initial={initial}
      isNew={false}
      verb="Save"
      onSubmit={save}
      onClose={onClose}
    />
  );
}
