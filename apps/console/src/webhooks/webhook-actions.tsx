import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { ActionButton, Button } from '../kit/button.js';
import type { OpenDialog } from './webhook-dialog.js';
import type { NoticeActions } from './webhook-notice.js';

/** The buttons of a webhook. */
export function WebhookActions(props: {
  webhook: Webhook;
  actions: NoticeActions;
  onOpen: (dialog: OpenDialog) => void;
}): JSX.Element {
  const { webhook, actions, onOpen } = props;
  const isOff = webhook.enabled ? undefined : 'The webhook is disabled. Enable it first.';
  return (
    <>
      <ActionButton action={actions.test} disabledBecause={isOff}>
        Send a test event
      </ActionButton>
      <Button
        disabledBecause={isOff}
        onClick={() => {
          actions.replay('failed');
        }}
      >
        Replay …
      </Button>
      <Button
        onClick={() => {
          onOpen({ kind: 'edit' });
        }}
      >
        Edit
      </Button>
      {webhook.enabled && (
        <Button
          onClick={() => {
            onOpen({ kind: 'disable' });
          }}
        >
          Disable
        </Button>
      )}
      <Button
        look="danger"
        onClick={() => {
          onOpen({ kind: 'delete' });
        }}
      >
        Delete
      </Button>
    </>
  );
}
