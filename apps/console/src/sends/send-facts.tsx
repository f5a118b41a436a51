import type { Send } from '#client';
import type { ComponentChildren, JSX } from 'preact';
import { useApi } from '../api/api.js';
import { to, withParameters } from '../kit/address.js';
import { Id } from '../kit/copy.js';
import { Json } from '../kit/json.js';
import { Section } from '../kit/page.js';
import { Facts } from '../kit/table.js';
import { sizeText } from '../kit/text.js';
import { Time } from '../kit/time.js';

/** The text, the file, the metadata and other facts of a send. */
export function SendFacts({ send }: { send: Send }): JSX.Element {
  const { metadata, extraFields, message } = send;
  return (
    <>
      <Section title="Content">
        {message !== null && <p class="message-text">{message}</p>}
        <Facts of={contentFacts(send)} />
      </Section>
      <Section title="Details">
        <Facts of={useFacts(send)} />
      </Section>
      {metadata !== null && (
        <Section title="Metadata">
          <Json value={metadata} label="the metadata" />
        </Section>
      )}
      {Object.keys(extraFields).length > 0 && (
        <Section title="Further fields for the messaging service">
          <Json value={extraFields} label="the further fields" />
        </Section>
      )}
    </>
  );
}

function contentFacts({ type, file, fileUrl }: Send): [string, ComponentChildren][] {
  return [
    ['Type', type],
    ['File', file === null ? null : `${file.name} · ${file.contentType} · ${sizeText(file.size)}`],
    ['SHA-256', file === null ? null : <code>{file.sha256}</code>],
    // The address comes from outside. So it is shown as text, and is never loaded.
    ['URL of the file', fileUrl === null ? null : <code>{fileUrl}</code>],
  ];
}

function useFacts(send: Send): [string, ComponentChildren][] {
  const api = useApi();
  const { id, phoneNumber, reference, createdAt, updatedAt, sendAt, expiresAt, contactId, messageId } = send;
  return [
    ['Recipient', <a href={withParameters(to('sends'), { phoneNumber })}>{phoneNumber}</a>],
    [
      'Reference',
      reference === null ? null : <a href={withParameters(to('sends'), { reference })}>{reference}</a>,
    ],
    ['Created', <Time at={createdAt} />],
    ['Changed', <Time at={updatedAt} />],
    ['Send at', sendAt === null ? null : <Time at={sendAt} />],
    ['Expires', expiresAt === null ? null : <Time at={expiresAt} />],
    [
      'Contact',
      contactId === null ? null : (
        <a href={to('conversations', contactId)}>
          <code>{contactId}</code>
        </a>
      ),
    ],
    [
      'Message',
      messageId === null ? null : api.may('events:read') ? (
        <a href={withParameters(to('events'), { messageId })}>
          <code>{messageId}</code>
        </a>
      ) : (
        <code>{messageId}</code>
      ),
    ],
    ['Id', <Id of={id} />],
  ];
}
