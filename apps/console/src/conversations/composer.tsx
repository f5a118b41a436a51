import type { Conversation, Send } from '#client';
import type { JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { Button } from '../kit/button.js';
import { ChoiceField, TextField } from '../kit/fields.js';
import { Failure } from '../kit/page.js';
import { sizeText } from '../kit/text.js';
import { useToasts } from '../kit/toasts.js';
import { nameOf } from './contact-name.js';
import { attemptOf, changedDraft, type Draft, draftAfter, recipientOf } from './draft.js';
import { keptDrafts } from './kept-drafts.js';
import { faultsOf, sendDraft } from './send-draft.js';

/** A box to write a message. The text stays until the gateway has stored the send. */
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
  const toasts = useToasts();
  const isShown = useRef(true);
  useEffect(
    () => () => {
      isShown.current = false;
    },
    [],
  );
  const { isBusy } = draft;
  const { faults, other } = draft.rejection;
  const phoneNumber = recipientOf(draft, conversation);
  const change = (values: Parameters<typeof changedDraft>[1]): void => {
    if (!isBusy) onDraft(changedDraft(draft, values));
  };
  const send = async (): Promise<void> => {
    if (isBusy) return;
    const found = faultsOf(draft);
    if (found !== undefined) {
      onDraft({ ...draft, rejection: { faults: found, other: undefined } });
      return;
    }
    const attempt = attemptOf(draft, phoneNumber);
    onDraft(attempt);
    try {
      onSent(
        await sendDraft(
          api.client,
          keptDrafts,
          api.signIn.id,
          attempt,
          draftAfter(draft, conversation.phoneNumbers),
        ),
      );
    } catch (error) {
      // The draft shows the error, but the user no longer sees the draft.
      if (!isShown.current) toasts.fail(error, `Message to ${nameOf(conversation)}`);
    } finally {
      const focused = document.activeElement;
      // The focus stays where it is if the user has moved it out of the form.
      if (focused === document.body || text.current?.form?.contains(focused) === true) text.current?.focus();
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
          // Without this, the same file could not be chosen again.
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
