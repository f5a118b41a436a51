import type { Send, SendEntry } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { to } from '../kit/address.js';
import { SendBadge } from '../kit/badge.js';
import { Button } from '../kit/button.js';
import { Confirmation } from '../kit/dialog.js';
import { sizeText } from '../kit/text.js';
import { exactText, Time } from '../kit/time.js';
import { Attachments } from './attachments.js';

/** Statuses in which a send can still be cancelled. */
const CANCELLABLE: ReadonlySet<string> = new Set(['scheduled', 'queued']);
const TROUBLED: ReadonlySet<string> = new Set(['failed', 'unknown', 'expired']);

/** A send that has no message yet, or will never have one. */
export function SendBubble(props: { entry: SendEntry; onChanged: (send: Send) => void }): JSX.Element {
  const { at, send } = props.entry;
  const api = useApi();
  const [isAsking, setAsking] = useState(false);
  const isScheduled = send.status === 'scheduled' && send.sendAt !== null;
  const isTroubled = TROUBLED.has(send.status);
  return (
    <li class={isTroubled ? 'bubble outbound send troubled' : 'bubble outbound send'}>
      <span class="hidden">Your send:</span>
      {send.type !== 'text' && <span class="quiet">Type: {send.type}</span>}
      {send.message !== null && send.message !== '' && (
        <p class="text" dir="auto">
          {send.message}
        </p>
      )}
      {send.file !== null && (
        <p class="wrap">
          File: {send.file.name} <span class="quiet">({sizeText(send.file.size)})</span>
        </p>
      )}
      {send.fileUrl !== null && <Attachments of={[send.fileUrl]} />}
      {isTroubled && <p class="reason wrap">{send.reason ?? DEFAULT_REASONS[send.status]}</p>}
      <p class="foot">
        <SendBadge status={send.status} />
        {isScheduled ? (
          <span>
            for {exactText(new Date(at))} (<Time at={at} />)
          </span>
        ) : (
          <Time at={at} always="clock" />
        )}
        <a href={to('sends', send.id)}>{isTroubled ? 'See what happened' : 'Send details'}</a>
        {CANCELLABLE.has(send.status) && api.may('messages:send') && (
          <Button
            look="quiet"
            onClick={() => {
              setAsking(true);
            }}
          >
            Cancel
          </Button>
        )}
      </p>
      {isAsking && (
        <Confirmation
          title="Cancel this send?"
          verb="Cancel the send"
          isDangerous
          done="The send is cancelled."
          action={async () => {
            props.onChanged(await api.client.cancelSend(send.id));
          }}
          onClose={() => {
            setAsking(false);
          }}
        >
          <p>The message will not be sent. This cannot be undone.</p>
          {send.message !== null && <p class="wrap quiet">{send.message}</p>}
        </Confirmation>
      )}
    </li>
  );
}

const DEFAULT_REASONS: Readonly<Record<string, string>> = {
  failed: 'The send failed.',
  unknown: 'It is not known whether the message was sent.',
  expired: 'The send was not relayed in time.',
};
