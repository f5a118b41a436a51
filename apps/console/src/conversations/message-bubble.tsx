import type { Message, MessageEntry } from '#client';
import type { JSX, RefObject } from 'preact';
import { useApi } from '../api/api.js';
import { to, withParameters } from '../kit/address.js';
import { Json } from '../kit/json.js';
import { Time } from '../kit/time.js';
import { Attachments } from './attachments.js';

/** A message: what came in stands left, what went out right, and anything else in the middle. */
export function MessageBubble(props: {
  entry: MessageEntry;
  elementRef: RefObject<HTMLLIElement> | null;
}): JSX.Element {
  const { message, at, send } = props.entry;
  const api = useApi();
  const { direction } = message;
  const side = direction === 'inbound' || direction === 'outbound' ? direction : 'other';
  const text = textOf(message);
  const attachments: readonly unknown[] = Array.isArray(message.attachments) ? message.attachments : [];
  const kind = kindOf(message);
  return (
    <li class={`bubble ${side}`} ref={props.elementRef}>
      <span class="hidden">{SPEAKERS[side]}</span>
      {side === 'other' && <span class="quiet">Direction: {direction ?? 'not given'}</span>}
      {kind !== undefined && <span class="quiet">Type: {kind}</span>}
      {text !== '' && (
        <p class="text" dir="auto">
          {text}
        </p>
      )}
      <Attachments of={attachments} />
      {text === '' && attachments.length === 0 && (
        <details>
          <summary>No text and no file</summary>
          <Json value={message} label="the message" />
        </details>
      )}
      <p class="foot">
        <Time at={at} none="No time" always="clock" />
        {side === 'outbound' && <span>{flagOf(message)}</span>}
        {typeof message.service === 'string' && <span>{message.service}</span>}
        {send !== null && (
          <a href={to('sends', send.id)} title="The send of this message">
            Send details
          </a>
        )}
        {api.may('events:read') && (
          <a
            href={withParameters(to('events'), { messageId: String(message.id) })}
            aria-label="The events that this message caused"
            title="The events that this message caused"
          >
            Events
          </a>
        )}
      </p>
    </li>
  );
}

const SPEAKERS = { inbound: 'They wrote:', outbound: 'You wrote:', other: 'Message:' } as const;

/** How far an outbound message came, by what the messaging service shows of it. */
function flagOf({ status }: Message): string {
  if (status?.read === true) return 'Read';
  return status?.delivered === true ? 'Delivered' : 'Sent';
}

/** The messaging service may show a text that is none. It is shown as it is. */
function textOf({ message }: Message): string {
  const text: unknown = message;
  if (text === undefined || text === null) return '';
  return typeof text === 'string' ? text : JSON.stringify(text);
}

/** Type of a message, unless it is the usual one. */
function kindOf(message: Message): string | undefined {
  const type = message['type'];
  return typeof type === 'string' && type !== 'text' ? type : undefined;
}
