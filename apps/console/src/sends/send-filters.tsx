import { SEND_STATUSES } from '#client';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useParameters } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { ChoiceField, TextField } from '../kit/fields.js';

const CHOICES = [
  { value: '', label: 'All' },
  ...SEND_STATUSES.map((status) => ({ value: status, label: status })),
];

/** Returns a phone number without the spaces and marks that people write in it. */
function plainNumber(text: string): string {
  return text.replace(/[\s()./-]/g, '');
}

/** Returns true if the API accepts the text as a phone number. */
export function isPhoneNumber(text: string): boolean {
  return /^\+[1-9]\d{1,14}$/.test(text);
}

/** The fields that select sends. Once the filter is applied, its values are in the address of the page. */
export function SendFilters(): JSX.Element {
  const [parameters, setParameters] = useParameters();
  const { status = '', phoneNumber = '', reference = '' } = parameters;
  const [number, setNumber] = useState(phoneNumber);
  const [ownId, setOwnId] = useState(reference);
  const [isFaulty, setFaulty] = useState(false);
  useEffect(() => {
    setNumber(phoneNumber);
    setOwnId(reference);
    setFaulty(false);
  }, [phoneNumber, reference]);
  const apply = (): void => {
    const plain = plainNumber(number);
    const isBad = plain !== '' && !isPhoneNumber(plain);
    setFaulty(isBad);
    if (!isBad) setParameters({ phoneNumber: plain, reference: ownId.trim() });
  };
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filter sends"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <ChoiceField
        label="Status"
        value={status}
        choices={CHOICES}
        onChange={(value) => {
          setParameters({ status: value });
        }}
      />
      <TextField
        label="Phone number"
        type="tel"
        placeholder="+14155550123"
        fault={isFaulty ? 'Enter + and the country code first, as in +14155550123.' : undefined}
        value={number}
        onInput={setNumber}
      />
      <TextField label="Reference" type="search" value={ownId} onInput={setOwnId} />
      <span class="actions">
        <Button type="submit">Apply</Button>
        {(status !== '' || phoneNumber !== '' || reference !== '') && (
          <Button
            look="quiet"
            onClick={() => {
              setParameters({ status: '', phoneNumber: '', reference: '' });
            }}
          >
            Clear
          </Button>
        )}
      </span>
    </form>
  );
}
