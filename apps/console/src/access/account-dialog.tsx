import type { Account } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { Button } from '../kit/button.js';
import { Dialog } from '../kit/dialog.js';
import { CheckField, hasIncompleteField, TextField } from '../kit/fields.js';
import { Failure } from '../kit/page.js';
import { type Rejection, rejectionOf } from '../kit/rejection.js';
import { type AccountDraft, changesBetween, draftOf, faultsOf } from './account-draft.js';

interface AccountDialogProps {
  /** The account to change. Absent if a new account is added. */
  account?: Account;
  onClose: () => void;
  onDone: () => void;
}

const NO_REJECTION: Rejection = { faults: {}, other: undefined };
const FIELDS = ['id', 'baseUrl', 'apiKey', 'requestsPerSecond', 'polling'];

/** Adds or changes an account. */
export function AccountDialog({ account, onClose, onDone }: AccountDialogProps): JSX.Element {
  const api = useApi();
  // While the dialog is open, the page may read the account again. The form keeps the values from its opening.
  const [initial] = useState(() => draftOf(account));
  const [draft, setDraft] = useState(initial);
  const [{ faults, other }, setRejection] = useState(NO_REJECTION);
  const [isBusy, setBusy] = useState(false);
  const set = (change: Partial<AccountDraft>): void => {
    setDraft({ ...draft, ...change });
  };
  const submit = async (): Promise<void> => {
    if (isBusy) return;
    const found = faultsOf(initial, draft);
    if (found !== undefined) {
      setRejection({ faults: found, other: undefined });
      return;
    }
    const changes = changesBetween(initial, draft);
    if (account !== undefined && Object.keys(changes).length === 0) {
      onClose();
      return;
    }
    setBusy(true);
    setRejection(NO_REJECTION);
    try {
      if (account === undefined) await api.change('POST', '/v1/accounts', { ...changes, id: draft.id });
      else await api.change('PATCH', `/v1/accounts/${part(account.id)}`, changes);
      onDone();
    } catch (error) {
      setRejection(rejectionOf(error, FIELDS));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={account === undefined ? 'Add an account' : `Change ${account.id}`}
      isBusy={isBusy}
      onClose={onClose}
    >
      <form
        class="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!hasIncompleteField(event.currentTarget)) void submit();
        }}
      >
        {other !== undefined && <Failure error={other} />}
        {account === undefined && (
          <TextField
            label="Account"
            value={draft.id}
            fault={faults['id']}
            hint="Name of the account in Tidings, for example sales. It cannot be changed later."
            onInput={(id) => {
              set({ id });
            }}
          />
        )}
        <TextField
          label="Address of the messaging service"
          type="url"
          value={draft.baseUrl}
          fault={faults['baseUrl']}
          placeholder="https://messages.example.com/v1"
          onInput={(baseUrl) => {
            set({ baseUrl });
          }}
        />
        <TextField
          label="API key at the messaging service"
          type="password"
          autocomplete="new-password"
          value={draft.apiKey}
          fault={faults['apiKey']}
          hint={
            account === undefined
              ? 'The API key is stored encrypted and is never shown again.'
              : 'Leave this empty to keep the present API key.'
          }
          onInput={(apiKey) => {
            set({ apiKey });
          }}
        />
        <TextField
          label="Requests per second"
          type="number"
          value={draft.requestsPerSecond}
          fault={faults['requestsPerSecond']}
          hint="Maximum number of requests to the messaging service."
          onInput={(requestsPerSecond) => {
            set({ requestsPerSecond });
          }}
        />
        <CheckField
          label="Poll contacts and messages, and emit events"
          isChecked={draft.polling}
          onChange={(polling) => {
            set({ polling });
          }}
        />
        <footer>
          <Button isBusy={isBusy} onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" look="primary" isBusy={isBusy}>
            {account === undefined ? 'Add the account' : 'Save'}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
