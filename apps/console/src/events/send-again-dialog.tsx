import type { Delivery, Webhook } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { useRefresh } from '../api/queries.js';
import { Confirmation } from '../kit/dialog.js';
import { ChoiceField } from '../kit/fields.js';
import { nameOf } from '../webhooks/webhook-state.js';

/** Delivers one event to a webhook that the user chooses. */
export function SendAgainDialog(props: {
  eventId: string;
  webhooks: readonly Webhook[];
  onClose: () => void;
}): JSX.Element {
  const { eventId, webhooks, onClose } = props;
  const api = useApi();
  const refresh = useRefresh();
  const [webhookId, setWebhookId] = useState(
    () => (webhooks.find(({ enabled }) => enabled) ?? webhooks[0])?.id ?? '',
  );
  const isDisabled = webhooks.find(({ id }) => id === webhookId)?.enabled === false;
  return (
    <Confirmation
      title="Send the event again"
      verb="Send"
      cancel="Cancel"
      done="The event is sent to the webhook now."
      disabledBecause={isDisabled ? 'The webhook is disabled. Enable it on its page first.' : undefined}
      action={async () => {
        await api.change<Delivery>('POST', `/v1/webhooks/${part(webhookId)}/deliveries`, { eventId });
        await refresh('/v1/deliveries', '/v1/webhooks');
      }}
      onClose={onClose}
    >
      <ChoiceField
        label="Webhook"
        value={webhookId}
        choices={webhooks.map((webhook) => ({
          value: webhook.id,
          label: webhook.enabled ? nameOf(webhook) : `${nameOf(webhook)} (disabled)`,
        }))}
        hint="The event is delivered to this webhook now, with the same id, even if the filter of the webhook does not select it. Other webhooks do not receive it."
        onChange={setWebhookId}
      />
    </Confirmation>
  );
}
