import type { CreatedApiKey } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import type { Scope } from '../api/caller.js';
import { Button } from '../kit/button.js';
import { Dialog } from '../kit/dialog.js';
import { CheckField, ChoiceField, hasIncompleteField, TextField } from '../kit/fields.js';
import { Failure } from '../kit/page.js';
import { type Rejection, rejectionOf } from '../kit/rejection.js';

interface ApiKeyDialogProps {
  accounts: readonly string[];
  initialAccount: string;
  onClose: () => void;
  onDone: (key: CreatedApiKey) => void;
}

const SCOPES: readonly { scope: Scope; text: string }[] = [
  { scope: 'messages:send', text: 'send messages' },
  { scope: 'messages:read', text: 'read sends, contacts, messages and conversations' },
  { scope: 'events:read', text: 'read and follow events' },
  { scope: 'webhooks:manage', text: 'manage webhooks and their deliveries' },
  {
    scope: 'admin',
    text: 'manage API keys, read status and audit log; in the account default, also manage accounts',
  },
];
const FIELDS = ['name', 'account', 'scopes', 'expiresAt'];
const NO_REJECTION: Rejection = { faults: {}, other: undefined };

/** Creates an API key. */
export function ApiKeyDialog({ accounts, initialAccount, onClose, onDone }: ApiKeyDialogProps): JSX.Element {
  const api = useApi();
  const [name, setName] = useState('');
  const [account, setAccount] = useState(initialAccount);
  const [scopes, setScopes] = useState<readonly Scope[]>([]);
  const [expiry, setExpiry] = useState('');
  const [{ faults, other }, setRejection] = useState(NO_REJECTION);
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setRejection(NO_REJECTION);
    try {
      const body = {
        name,
        account,
        scopes,
        ...(expiry === '' ? {} : { expiresAt: new Date(expiry).toISOString() }),
      };
      onDone(await api.change<CreatedApiKey>('POST', '/v1/api-keys', body));
    } catch (error) {
      setRejection(rejectionOf(error, FIELDS));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Create an API key" isBusy={isBusy} onClose={onClose}>
      <form
        class="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!hasIncompleteField(event.currentTarget)) void submit();
        }}
      >
        {other !== undefined && <Failure error={other} />}
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          fault={faults['name']}
          hint="The service that uses the key, for example Order service."
        />
        {accounts.length > 1 && (
          <ChoiceField
            label="Account"
            value={account}
            fault={faults['account']}
            choices={accounts.map((id) => ({ value: id, label: id }))}
            onChange={setAccount}
          />
        )}
        <fieldset>
          <legend>Scopes</legend>
          {SCOPES.map(({ scope, text }) => (
            <CheckField
              key={scope}
              label={
                <>
                  <code>{scope}</code>: {text}
                </>
              }
              isChecked={scopes.includes(scope)}
              onChange={(isChecked) => {
                setScopes(isChecked ? [...scopes, scope] : scopes.filter((each) => each !== scope));
              }}
            />
          ))}
          {faults['scopes'] !== undefined && <p class="fault">{faults['scopes']}</p>}
        </fieldset>
        <TextField
          label="Expires"
          type="datetime-local"
          value={expiry}
          onInput={setExpiry}
          fault={faults['expiresAt']}
          hint="In your time zone. If this is empty, the API key does not expire."
        />
        <footer>
          <Button isBusy={isBusy} onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" look="primary" isBusy={isBusy}>
            Create the API key
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
