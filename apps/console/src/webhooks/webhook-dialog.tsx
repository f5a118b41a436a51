import type { Webhook } from '#client';
import { useQueryClient } from '@tanstack/preact-query';
import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { part, useApi } from '../api/api.js';
import { keyOf, useRefresh } from '../api/queries.js';
import { to } from '../kit/address.js';
import { Confirmation } from '../kit/dialog.js';
import { countText } from '../kit/text.js';
import { EditWebhookDialog } from './edit-webhook-dialog.js';
import { ReplayDialog } from './replay-dialog.js';
import type { ReplayScope } from './replay-window.js';
import { setEnabled } from './webhook-operations.js';
import { nameOf } from './webhook-state.js';

/** A dialog that the page of a webhook can open. */
export type OpenDialog =
  { kind: 'edit' } | { kind: 'disable' } | { kind: 'delete' } | { kind: 'replay'; scope: ReplayScope };

interface WebhookDialogProps {
  open: OpenDialog | undefined;
  webhook: Webhook;
  troubleSince: string | undefined;
  onReplayed: (count: number) => Promise<void>;
  onClose: () => void;
}

/** The open dialog of the page of a webhook, if one is open. */
export function WebhookDialog(props: WebhookDialogProps): JSX.Element | null {
  const { open, webhook, troubleSince, onReplayed, onClose } = props;
  switch (open?.kind) {
    case undefined:
      return null;
    case 'edit':
      return <EditWebhookDialog webhook={webhook} onClose={onClose} />;
    case 'replay':
      return (
        <ReplayDialog
          webhookId={webhook.id}
          scope={open.scope}
          troubleSince={troubleSince}
          onReplayed={onReplayed}
          onClose={onClose}
        />
      );
    case 'disable':
      return <DisableConfirmation webhook={webhook} onClose={onClose} />;
    case 'delete':
      return <DeleteConfirmation webhook={webhook} onClose={onClose} />;
  }
}

function DisableConfirmation({ webhook, onClose }: { webhook: Webhook; onClose: () => void }): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  return (
    <Confirmation
      title="Disable the webhook?"
      verb="Disable"
      done="Disabled"
      onClose={onClose}
      action={async () => {
        await setEnabled(api, webhook, false);
        await refresh('/v1/webhooks');
      }}
    >
      <p>
        “{nameOf(webhook)}” receives no events until it is enabled again. Events of that time count as missed.
        You can replay them while they are in the event log.
      </p>
      {webhook.pending > 0 && (
        <p>{countText(webhook.pending, 'pending delivery ends', 'pending deliveries end')} as missed.</p>
      )}
    </Confirmation>
  );
}

function DeleteConfirmation({ webhook, onClose }: { webhook: Webhook; onClose: () => void }): JSX.Element {
  const api = useApi();
  const queries = useQueryClient();
  const { route } = useLocation();
  return (
    <Confirmation
      title="Delete the webhook?"
      verb="Delete the webhook"
      isDangerous
      done="Deleted"
      onClose={onClose}
      action={async () => {
        await api.change('DELETE', `/v1/webhooks/${part(webhook.id)}`);
        // The list of webhooks is read again, but not this webhook, because it no longer exists.
        queries.removeQueries({ queryKey: keyOf(api, '/v1/webhooks') });
        route(to('webhooks'));
      }}
    >
      <p>
        “{nameOf(webhook)}” receives no more events. Its settings, its signing secret and the list of its
        deliveries are lost. This cannot be undone: a new webhook has another secret.
      </p>
      {webhook.pending > 0 && (
        <p>{countText(webhook.pending, 'pending delivery is', 'pending deliveries are')} cancelled.</p>
      )}
    </Confirmation>
  );
}
