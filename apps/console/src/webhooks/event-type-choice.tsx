import type { JSX } from 'preact';
import { CheckField, TextField } from '../kit/fields.js';
import { EVENT_TYPE_GROUPS, type EventTypeGroup } from './event-types.js';
import type { EventTypeChoice } from './webhook-draft.js';

interface EventTypeFieldsProps {
  label: string;
  /** Label of the choice of all event types. */
  allLabel: string;
  value: EventTypeChoice;
  onChange: (value: EventTypeChoice) => void;
  fault: string | undefined;
}

/** Selects event types: all, whole subjects, single types, or a pattern. */
export function EventTypeFields(props: EventTypeFieldsProps): JSX.Element {
  const { label, allLabel, value, onChange, fault } = props;
  const { isAll, checked, others } = value;
  const toggle = (pattern: string, isChecked: boolean): void => {
    const rest = checked.filter((each) => each !== pattern);
    onChange({ ...value, checked: isChecked ? [...rest, pattern] : rest });
  };
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      <CheckField
        label={allLabel}
        isChecked={isAll}
        onChange={(isChecked) => {
          onChange({ ...value, isAll: isChecked });
        }}
      />
      {!isAll && (
        <>
          {EVENT_TYPE_GROUPS.map((group) => (
            <Group key={group.subject} group={group} checked={checked} onToggle={toggle} />
          ))}
          <TextField
            label="Other event types or patterns"
            value={others}
            placeholder="message.*"
            hint="Separated by spaces."
            onInput={(text) => {
              onChange({ ...value, others: text });
            }}
          />
        </>
      )}
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
    </fieldset>
  );
}

/** The event types of a subject. If the pattern is checked, it selects all of them, so they are not shown. */
function Group(props: {
  group: EventTypeGroup;
  checked: readonly string[];
  onToggle: (pattern: string, isChecked: boolean) => void;
}): JSX.Element {
  const { group, checked, onToggle } = props;
  const isWhole = checked.includes(group.pattern);
  return (
    <fieldset class="choices">
      <legend class="hidden">Events of type {group.subject}</legend>
      {[group.pattern, ...(isWhole ? [] : group.types)].map((type) => (
        <CheckField
          key={type}
          label={<code>{type}</code>}
          isChecked={checked.includes(type)}
          onChange={(isChecked) => {
            onToggle(type, isChecked);
          }}
        />
      ))}
    </fieldset>
  );
}
