import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../kit/button.js';
import { Dialog } from '../kit/dialog.js';
import { CheckField, TextField } from '../kit/fields.js';
import { Failure } from '../kit/page.js';
import { EventTypeFields } from './event-type-choice.js';
import { type Faults, type Rejection, rejectionOf } from '../kit/rejection.js';
import { valuesOf, type WebhookDraft, type WebhookValues } from './webhook-draft.js';

interface WebhookFormProps {
  title: string;
  initial: WebhookDraft;
  /**
   * True for a new webhook. An existing webhook is enabled and disabled on its page, which says what happens to its
   * deliveries.
   */
  isNew: boolean;
  verb: string;
  /** Called with the values of the form. If the result rejects, the error is shown at the fields that it names. */
  onSubmit: (values: WebhookValues) => Promise<void>;
  onClose: () => void;
}

/** Fields of the API that the form shows. */
const MORE_FIELDS = ['contactIds', 'headers', 'maxConcurrency', 'rateLimitPerSecond'] as const;
const FIELDS: readonly (keyof WebhookValues)[] = ['url', 'description', 'eventTypes', ...MORE_FIELDS];
const NONE: Rejection = { faults: {}, other: undefined };

/** The settings of a webhook, in a dialog. */
export function WebhookForm({
  title,
  initial,
  isNew,
  verb,
  onSubmit,
  onClose,
}: WebhookFormProps): JSX.Element {
  const [draft, setDraft] = useState(initial);
  const [isBusy, setBusy] = useState(false);
  const [{ faults, other }, setRejection] = useState<Rejection>(NONE);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus();
  }, [faults]);
  const change = (changes: Partial<WebhookDraft>): void => {
    setDraft({ ...draft, ...changes });
  };
  const submit = async (): Promise<void> => {
    if (isBusy) return;
    const { values, faults: own } = valuesOf(draft);
    if (Object.keys(own).length > 0) {
      setRejection({ faults: own, other: undefined });
      return;
    }
    setBusy(true);
    setRejection(NONE);
    try {
      await onSubmit(values);
    } catch (error) {
      setRejection(rejectionOf(error, FIELDS));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} isBusy={isBusy} onClose={onClose}>
      <form
        ref={form}
        class="form"
        // The browser does not validate. The API does, and the faults that it finds are shown at the fields.
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <TextField
          label="URL"
          type="url"
          value={draft.url}
          placeholder="https://example.com/tidings"
          isRequired
          hasFocus
          fault={faults['url']}
          onInput={(url) => {
            change({ url });
          }}
        />
        <TextField
          label="Description"
          value={draft.description}
          placeholder="Order service"
          fault={faults['description']}
          onInput={(description) => {
            change({ description });
          }}
        />
        <EventTypeFields
          label="Events"
          allLabel="All events, including events of future types"
          value={draft.eventTypes}
          fault={faults['eventTypes']}
          onChange={(eventTypes) => {
            change({ eventTypes });
          }}
        />
        {isNew && (
          <CheckField
            label="Enabled: events are delivered"
            isChecked={draft.isEnabled}
            onChange={(isEnabled) => {
              change({ isEnabled });
            }}
          />
        )}
        <MoreFields draft={draft} faults={faults} onChange={change} />
        {other !== undefined && <Failure error={other} />}
        <footer>
          <Button isBusy={isBusy} onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" look="primary" isBusy={isBusy}>
            {verb}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Settings that few webhooks need. They are shown at first if one of them has a value. */
function MoreFields(props: {
  draft: WebhookDraft;
  faults: Faults;
  onChange: (changes: Partial<WebhookDraft>) => void;
}): JSX.Element {
  const { draft, faults, onChange } = props;
  const { contactIds, headers, maxConcurrency, rateLimitPerSecond, isOrdered } = draft;
  const [hasValue] = useState(
    isOrdered || [contactIds, headers, maxConcurrency, rateLimitPerSecond].some((text) => text !== ''),
  );
  const hasFault = MORE_FIELDS.some((field) => faults[field] !== undefined);
  return (
    <details class="more-fields" open={hasValue || hasFault}>
      <summary>Contacts, headers, limits and order</summary>
      <div class="form">
        <CheckField
          label="Ordered: one event at a time for each contact. The next event follows after the delivery of the previous event has succeeded or permanently failed."
          isChecked={isOrdered}
          onChange={(value) => {
            onChange({ isOrdered: value });
          }}
        />
        <TextField
          label="Only these contacts"
          value={contactIds}
          lines={3}
          hint="One contact id per line. If this is empty, the events of all contacts are delivered."
          fault={faults['contactIds']}
          onInput={(value) => {
            onChange({ contactIds: value });
          }}
        />
        <TextField
          label="Headers of each request"
          value={headers}
          lines={3}
          placeholder="Authorization: Bearer abc"
          hint="One header per line, as “Name: value”."
          fault={faults['headers']}
          onInput={(value) => {
            onChange({ headers: value });
          }}
        />
        <TextField
          label="Simultaneous requests, at most"
          value={maxConcurrency}
          hint="If this is empty, the default of the installation applies."
          fault={faults['maxConcurrency']}
          onInput={(value) => {
            onChange({ maxConcurrency: value });
          }}
        />
        <TextField
          label="Requests per second, at most"
          value={rateLimitPerSecond}
          hint="If this is empty, there is no limit."
          fault={faults['rateLimitPerSecond']}
          onInput={(value) => {
            onChange({ rateLimitPerSecond: value });
          }}
        />
      </div>
    </details>
  );
}
