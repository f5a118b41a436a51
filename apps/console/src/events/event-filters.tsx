import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useParameters } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { TextField } from '../kit/fields.js';
import { patternsIn, unknownPatternIn } from './event-filter.js';

const FIELDS = ['types', 'contactId', 'messageId', 'sendId'] as const;

/** The fields that select events. Once the filter is applied, its values are in the address of the page. */
export function EventFilters(): JSX.Element {
  const [parameters, setParameters] = useParameters();
  const applied = FIELDS.map((field) => parameters[field] ?? '');
  const [draft, setDraft] = useState(applied);
  useEffect(() => {
    setDraft(applied);
  }, [applied.join('\n')]);
  const unknown = unknownPatternIn(patternsIn(draft[0] ?? ''));
  const field = (position: number, label: string, placeholder?: string): JSX.Element => (
    <TextField
      label={label}
      type="search"
      {...(placeholder === undefined ? {} : { placeholder })}
      fault={position === 0 && unknown !== undefined ? `No event type matches “${unknown}”.` : undefined}
      value={draft[position] ?? ''}
      onInput={(value) => {
        setDraft(draft.map((text, i) => (i === position ? value : text)));
      }}
    />
  );
  return (
    <form
      class="filters event-filters"
      role="search"
      aria-label="Filter events"
      onSubmit={(event) => {
        event.preventDefault();
        if (unknown !== undefined) return;
        const [types = '', contactId = '', messageId = '', sendId = ''] = draft.map((text) => text.trim());
        setParameters({ types: patternsIn(types).join(','), contactId, messageId, sendId, from: undefined });
      }}
    >
      {field(0, 'Event types', 'message.*')}
      {field(1, 'Contact id')}
      {field(2, 'Message id')}
      {field(3, 'Send id')}
      <span class="actions">
        <Button type="submit">Apply</Button>
        {applied.some((text) => text !== '') && (
          <Button
            look="quiet"
            onClick={() => {
              setParameters({ types: '', contactId: '', messageId: '', sendId: '', from: undefined });
            }}
          >
            Clear
          </Button>
        )}
      </span>
    </form>
  );
}
