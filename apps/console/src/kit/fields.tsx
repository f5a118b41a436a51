import type { ComponentChildren, JSX, TargetedInputEvent } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

interface FieldProps {
  label: string;
  /** Text below the field that says what to enter. */
  hint?: ComponentChildren;
  /** What is wrong with the value. */
  fault?: string | undefined;
}

interface TextFieldProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  type?: 'text' | 'password' | 'search' | 'tel' | 'url' | 'number' | 'datetime-local';
  placeholder?: string;
  isRequired?: boolean;
  /** Number of lines. If it is above 1, line breaks can be entered. */
  lines?: number;
  autocomplete?: string;
  /** Puts the focus into the field when it appears. */
  hasFocus?: boolean;
}

/** A field for text. */
export function TextField(props: TextFieldProps): JSX.Element {
  const { label, hint, fault, value, onInput, type = 'text', placeholder, isRequired, lines = 1 } = props;
  const id = useId();
  const common = {
    id,
    value,
    placeholder,
    required: isRequired,
    autocomplete: props.autocomplete ?? 'off',
    autofocus: props.hasFocus,
    'aria-describedby': `${id}-about`,
    'aria-invalid': fault !== undefined,
    onInput: (event: TargetedInputEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      onInput(event.currentTarget.value);
    },
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {lines > 1 ? <textarea {...common} rows={lines} /> : <input {...common} type={type} />}
      <About id={`${id}-about`} hint={hint} fault={fault} />
    </div>
  );
}

interface ChoiceFieldProps<Value extends string> extends FieldProps {
  value: Value;
  choices: readonly { value: Value; label: string }[];
  onChange: (value: Value) => void;
}

/** A field with a few choices. */
export function ChoiceField<Value extends string>(props: ChoiceFieldProps<Value>): JSX.Element {
  const { label, hint, fault, value, choices, onChange } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={`${id}-about`}
        onChange={(event) => {
          const chosen = choices.find((choice) => choice.value === event.currentTarget.value);
          if (chosen !== undefined) onChange(chosen.value);
        }}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      <About id={`${id}-about`} hint={hint} fault={fault} />
    </div>
  );
}

/** A field that is on or off. */
export function CheckField(props: {
  label: ComponentChildren;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.isChecked}
        onChange={(event) => {
          props.onChange(event.currentTarget.checked);
        }}
      />
      <span>{props.label}</span>
    </label>
  );
}

/**
 * Returns true if a field of the form has an incomplete date or number, and asks the user to complete it. The value
 * of such a field is empty, as if nothing had been entered.
 */
export function hasIncompleteField(form: HTMLElement): boolean {
  const field = [...form.querySelectorAll('input')].find(({ validity }) => validity.badInput);
  field?.reportValidity();
  return field !== undefined;
}

/** A search field that reports a text once the user pauses typing. */
export function SearchField(props: {
  label: string;
  value: string;
  onSearch: (text: string) => void;
  placeholder?: string;
}): JSX.Element {
  const { label, value, onSearch, placeholder } = props;
  const [text, setText] = useState(value);
  /** The text that this field reported last. If `value` is different, something else has changed it. */
  const searched = useRef(value);
  const latest = useRef(onSearch);
  latest.current = onSearch;
  useEffect(() => {
    if (value === searched.current) return;
    searched.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === searched.current) return;
    const timer = setTimeout(() => {
      searched.current = wanted;
      latest.current(wanted);
    }, 250);
    return () => {
      clearTimeout(timer);
    };
  }, [text]);
  return (
    <input
      class="search"
      type="search"
      aria-label={label}
      placeholder={placeholder ?? label}
      value={text}
      onInput={(event) => {
        setText(event.currentTarget.value);
      }}
    />
  );
}

function About({
  id,
  hint,
  fault,
}: {
  id: string;
  hint: ComponentChildren;
  fault: string | undefined;
}): JSX.Element {
  return (
    <div id={id} class="about">
      {fault !== undefined && <p class="fault">{fault}</p>}
      {hint !== undefined && <p class="quiet">{hint}</p>}
    </div>
  );
}
