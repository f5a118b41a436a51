import type { ResolutionResult, SendsResolution } from '#client';
import type { ComponentChildren, JSX } from 'preact';
import { to } from '../kit/address.js';
import { Badge, SendBadge } from '../kit/badge.js';
import { Button } from '../kit/button.js';
import { Confirmation, Dialog } from '../kit/dialog.js';
import { countText } from '../kit/text.js';
import { previewOf } from './send-text.js';

export type Outcome = SendsResolution['outcome'];

/** Verbs of the buttons. */
export const VERBS: Readonly<Record<Outcome, string>> = {
  resend: 'Send again',
  sent: 'Record as sent',
  failed: 'Record as failed',
};

/** Asks before sends are resolved. The children are shown below the text. */
export function ResolveDialog(props: {
  outcome: Outcome;
  /** Number of sends. */
  count: number;
  action: () => Promise<void>;
  done?: string;
  onClose: () => void;
  children?: ComponentChildren;
}): JSX.Element {
  const { outcome, count, action, done, onClose, children } = props;
  return (
    <Confirmation
      title={count === 1 ? `${VERBS[outcome]}?` : `${VERBS[outcome]}: ${countText(count, 'send', 'sends')}?`}
      verb={VERBS[outcome]}
      isDangerous={outcome === 'resend'}
      {...(done === undefined ? {} : { done })}
      action={action}
      onClose={onClose}
    >
      {outcome === 'resend' ? (
        <p>
          Tidings first looks for {count === 1 ? 'the message' : 'each message'} once more, and sends a
          message again only if it is not found. If the messaging service accepted the first attempt, but
          shows its message late, <strong>the recipient gets the message twice</strong>. This cannot be
          undone.
        </p>
      ) : outcome === 'sent' ? (
        <p>
          The outcome is recorded as sent. Nothing is sent, and subscribers receive a send.sent event. The
          outcome cannot be changed afterwards.
        </p>
      ) : (
        <p>
          The outcome is recorded as failed. Nothing is sent, and subscribers receive a send.failed event. You
          can still send the message again afterwards.
        </p>
      )}
      {children}
    </Confirmation>
  );
}

/** Shows for each send whether it was resolved. */
export function ResolveResults(props: {
  results: readonly ResolutionResult[];
  onClose: () => void;
}): JSX.Element {
  const { results, onClose } = props;
  const count = results.filter(({ resolved }) => resolved).length;
  return (
    <Dialog title={`${count} of ${countText(results.length, 'send', 'sends')} resolved`} onClose={onClose}>
      <ul class="results">
        {results.map(({ id, send, detail }) => (
          <li key={id}>
            <span class="actions">
              {send === null ? <Badge tone="bad">not resolved</Badge> : <SendBadge status={send.status} />}
              <a href={to('sends', id)}>{send === null ? id : send.phoneNumber}</a>
            </span>
            <span class="quiet wrap">{send === null ? detail : previewOf(send)}</span>
          </li>
        ))}
      </ul>
      <footer>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </footer>
    </Dialog>
  );
}
