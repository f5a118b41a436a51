import type { Message, MessageEntry } from '#client';
import type { JSX, RefObject } from 'preact';
import { useApi } from '../api/api.js';
import { to, withParameters } from '../kit/address.js';
import { Json } from '../kit/json.js';
import { Time } from '../kit/time.js';
import { Attachments } from './attachments.js';

/** A message. Inbound messages are on the left, outbound messages on the right, and all others in the middle. */
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

/** Returns the status of an outbound message, according to the messaging service. */
function flagOf({ status }: Message): string {
  if (status?.read === true) return 'Read';
  return status?.delivered === true ? 'Delivered' : 'Sent';
}

/**
 * Returns the text of a message. If the messaging service shows another value as the text, returns that value as
 * JSON.
 */
function textOf({ message }: Message): string {
  const text: unknown = message;
  if (text === undefined || text === null) return '';
  return typeof text === 'string' ? text : JSON.stringify(text);
}

/** Returns the type of a message, unless it is the usual type. */
function kindOf(message: Message): string | undefined {
  const type = message['type'];
  return typeof type === 'string' && type !== 'text' ? type : undefined;
}
