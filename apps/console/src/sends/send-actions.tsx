import type { Send } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { useRefresh } from '../api/queries.js';
import { Button } from '../kit/button.js';
import { Confirmation } from '../kit/dialog.js';
import { type Outcome, ResolveDialog, VERBS } from './resolve-dialog.js';
import { isCancellable, isResendable, isUndecided } from './send-text.js';
import { Candidates } from './send-timeline.js';

/** What can be done with a send in its present status. */
export function SendActions({ send }: { send: Send }): JSX.Element | null {
  const api = useApi();
  const [asked, setAsked] = useState<Outcome | 'cancel'>();
  const refresh = useRefresh();
  if (!api.may('messages:send')) return null;
  const ask = (
    what: Outcome | 'cancel',
    look: 'normal' | 'primary' | 'danger',
    text: string,
  ): JSX.Element => (
    <Button
      look={look}
      onClick={() => {
        setAsked(what);
      }}
    >
      {text}
    </Button>
  );
  const close = (): void => {
    setAsked(undefined);
  };
  return (
    <>
      {isUndecided(send) && ask('sent', 'normal', VERBS.sent)}
      {isUndecided(send) && ask('failed', 'normal', VERBS.failed)}
      {isResendable(send) && ask('resend', 'normal', VERBS.resend)}
      {isCancellable(send) && ask('cancel', 'danger', 'Cancel the send')}
      {asked === 'cancel' && <CancelDialog send={send} onClose={close} />}
      {asked !== undefined && asked !== 'cancel' && (
        <ResolveDialog
          outcome={asked}
          count={1}
          done={DONE[asked]}
          action={async () => {
            await api.change('POST', `/v1/sends/${part(send.id)}/resolve`, { outcome: asked });
            await refresh('/v1/sends');
          }}
          onClose={close}
        >
          <FoundBeside send={send} />
        </ResolveDialog>
      )}
    </>
  );
}

const DONE: Readonly<Record<Outcome, string>> = {
  resend: 'The send is queued again.',
  sent: 'The send is recorded as sent.',
  failed: 'The send is recorded as failed.',
};

/** The messages that the last look-up found, to help with the decision about the send. */
function FoundBeside({ send }: { send: Send }): JSX.Element | null {
  const api = useApi();
  const candidates = send.lookups?.at(-1)?.candidates ?? [];
  if (!isUndecided(send)) return null;
  if (candidates.length === 0)
    return <p class="quiet">The last look-up found no message with the same text.</p>;
  return (
    <>
      <p>The last look-up found these messages with the same text:</p>
      <Candidates candidates={candidates} mayReadEvents={api.may('events:read')} />
    </>
  );
}

function CancelDialog({ send, onClose }: { send: Send; onClose: () => void }): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  return (
    <Confirmation
      title="Cancel the send?"
      verb="Cancel the send"
      isDangerous
      done="The send is cancelled."
      action={async () => {
        await api.change('POST', `/v1/sends/${part(send.id)}/cancel`);
        await refresh('/v1/sends');
      }}
      onClose={onClose}
    >
      <p>The message will not be sent. This cannot be undone.</p>
    </Confirmation>
  );
}
