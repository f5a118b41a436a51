import { type Conversation, newIdempotencyKey, type NewSend, type Send } from '#client';
import type { JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { Button } from '../kit/button.js';
import { ChoiceField, TextField } from '../kit/fields.js';
import { Failure } from '../kit/page.js';
import { type Rejection, rejectionOf } from '../kit/rejection.js';
import { sizeText } from '../kit/text.js';
import { changedDraft, type Draft, EMPTY_DRAFT } from './draft.js';

const FIELDS = ['message', 'file', 'sendAt', 'phoneNumber'];

/** A box to write a message. What was written stays until the gateway has stored it. */
export function Composer(props: {
  conversation: Conversation;
  draft: Draft;
  onDraft: (draft: Draft) => void;
  onSent: (send: Send) => void;
}): JSX.Element {
  const { conversation, draft, onDraft, onSent } = props;
  const api = useApi();
  const id = useId();
  const text = useRef<HTMLTextAreaElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [{ faults, other }, setRejection] = useState<Rejection>({ faults: {}, other: undefined });
  const phoneNumber = draft.phoneNumber ?? conversation.phoneNumbers[0] ?? conversation.id;
  const change = (values: Partial<Omit<Draft, 'key'>>): void => {
    // The draft is emptied after the send, and later changes would be lost with it.
    if (isBusy) return;
    setRejection({ faults: {}, other: undefined });
    onDraft(changedDraft(draft, values));
  };
  const send = async (): Promise<void> => {
    if (isBusy) return;
    const fault = faultOf(draft);
    if (fault !== undefined) {
      setRejection({ faults: fault, other: undefined });
      return;
    }
    const attempt = { ...draft, phoneNumber, key: draft.key ?? newIdempotencyKey() };
    onDraft(attempt);
    setBusy(true);
    setRejection({ faults: {}, other: undefined });
    try {
      const body = bodyOf(attempt);
      const queued = await api.client.send(body, {
        idempotencyKey: attempt.key,
        ...(draft.file === undefined ? {} : { file: draft.file, fileName: draft.file.name }),
      });
      onDraft(EMPTY_DRAFT);
      onSent(storedSend(queued.id, body, draft.file));
    } catch (error) {
      setRejection(rejectionOf(error, FIELDS));
    } finally {
      setBusy(false);
      text.current?.focus();
    }
  };
  return (
    <form
      class="composer"
      aria-label="Send a message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {other !== undefined && (
        <>
          <Failure error={other} />
          <p class="quiet">Your draft is kept. If you send it again unchanged, it is sent only once.</p>
        </>
      )}
      {conversation.phoneNumbers.length > 1 && (
        <ChoiceField
          label="To"
          value={phoneNumber}
          fault={faults['phoneNumber']}
          choices={conversation.phoneNumbers.map((value) => ({ value, label: value }))}
          onChange={(value) => {
            change({ phoneNumber: value });
          }}
        />
      )}
      <div class="field">
        <label class="hidden" for={id}>
          Message
        </label>
        <textarea
          ref={text}
          id={id}
          rows={2}
          dir="auto"
          placeholder={`Message to ${phoneNumber}`}
          value={draft.text}
          readOnly={isBusy}
          aria-invalid={faults['message'] !== undefined}
          aria-describedby={`${id}-about`}
          onInput={(event) => {
            change({ text: event.currentTarget.value });
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            void send();
          }}
        />
        <div id={`${id}-about`} class="about">
          {faults['message'] !== undefined && <p class="fault">{faults['message']}</p>}
          {conversation.phoneNumbers.length < 2 && faults['phoneNumber'] !== undefined && (
            <p class="fault">Phone number: {faults['phoneNumber']}</p>
          )}
        </div>
      </div>
      {draft.sendAt !== undefined && (
        <TextField
          label="Send at (your time)"
          type="datetime-local"
          value={draft.sendAt}
          fault={faults['sendAt']}
          onInput={(value) => {
            change({ sendAt: value });
          }}
        />
      )}
      <div class="composer-foot">
        <FileChoice
          file={draft.file}
          fault={faults['file']}
          onChange={(file) => {
            change({ file });
          }}
        />
        <Button
          look="quiet"
          isPressed={draft.sendAt !== undefined}
          onClick={() => {
            change({ sendAt: draft.sendAt === undefined ? '' : undefined });
          }}
        >
          Schedule
        </Button>
        <span class="quiet hint">
          Enter begins a new line. <kbd>{SEND_KEYS}</kbd> sends.
        </span>
        <Button type="submit" look="primary" isBusy={isBusy}>
          {isBusy ? 'Sending …' : draft.sendAt === undefined ? 'Send' : 'Schedule the send'}
        </Button>
      </div>
    </form>
  );
}

function FileChoice(props: {
  file: File | undefined;
  fault: string | undefined;
  onChange: (file: File | undefined) => void;
}): JSX.Element {
  const { file, fault, onChange } = props;
  const input = useRef<HTMLInputElement>(null);
  return (
    <div class="file-choice">
      <input
        ref={input}
        type="file"
        class="hidden"
        tabIndex={-1}
        aria-label="File to send"
        onChange={(event) => {
          onChange(event.currentTarget.files?.[0]);
          // Otherwise the same file could not be chosen again.
          event.currentTarget.value = '';
        }}
      />
      {file === undefined ? (
        <Button look="quiet" onClick={() => input.current?.click()}>
          Add a file
        </Button>
      ) : (
        <>
          <span class="wrap">
            {file.name} <span class="quiet">({sizeText(file.size)})</span>
          </span>
          <Button
            look="quiet"
            label={`Remove the file ${file.name}`}
            onClick={() => {
              onChange(undefined);
            }}
          >
            ✕
          </Button>
        </>
      )}
      {fault !== undefined && <p class="fault">{fault}</p>}
    </div>
  );
}

const SEND_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ Enter' : 'Ctrl Enter';

function faultOf({ text, file, sendAt, key }: Draft): Record<string, string> | undefined {
  if (text.trim() === '' && file === undefined) return { message: 'Enter a text or add a file.' };
  if (sendAt === undefined) return undefined;
  const time = new Date(sendAt).getTime();
  if (Number.isNaN(time)) return { sendAt: 'Choose a date and a time.' };
  // The time of an attempt whose outcome is not known may have passed: the gateway knows the key if it has the send.
  return time <= Date.now() && key === undefined ? { sendAt: 'Choose a time in the future.' } : undefined;
}

function bodyOf({ text, sendAt, phoneNumber = '' }: Draft): NewSend {
  return {
    phoneNumber,
    ...(text === '' ? {} : { message: text }),
    ...(sendAt === undefined ? {} : { sendAt: new Date(sendAt).toISOString() }),
  };
}

/** The send as it was stored, until the gateway is asked for it. */
function storedSend(id: string, body: NewSend, file: File | undefined): Send {
  const now = new Date().toISOString();
  return {
    id,
    status: typeof body.sendAt === 'string' ? 'scheduled' : 'queued',
    phoneNumber: body.phoneNumber,
    type: 'text',
    message: body.message ?? null,
    fileUrl: null,
    file:
      file === undefined ? null : { name: file.name, contentType: file.type, size: file.size, sha256: '' },
    reference: null,
    metadata: null,
    extraFields: {},
    createdAt: now,
    updatedAt: now,
    sendAt: body.sendAt ?? null,
    expiresAt: null,
    attempts: [],
    contactId: null,
    messageId: null,
    reason: null,
  };
}
