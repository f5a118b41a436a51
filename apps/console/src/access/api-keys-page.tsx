import type { AccountList, ApiKey, ApiKeyList } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { useRead, useRefresh } from '../api/queries.js';
import { to, useParameters, withParameters } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { Code } from '../kit/copy.js';
import { Confirmation } from '../kit/dialog.js';
import { ChoiceField } from '../kit/fields.js';
import { Empty, Loaded, Page } from '../kit/page.js';
import { Table } from '../kit/table.js';
import { Time } from '../kit/time.js';
import { useToasts } from '../kit/toasts.js';
import { useSnapshot } from '../kit/use-snapshot.js';
import { ApiKeyDialog } from './api-key-dialog.js';
import { newApiKeys } from './new-api-keys.js';

const PATH = '/v1/api-keys';

/** The API keys: who may use the gateway, for what, and when each key was last used. */
export function ApiKeysPage(): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  const toasts = useToasts();
  const { id: signInId, caller } = api.signIn;
  const { isOperator, account: own, keyId } = caller;
  const [{ account }, setParameters] = useParameters();
  const keys = useRead<ApiKeyList>(PATH, { account });
  const accounts = useRead<AccountList>('/v1/accounts', {}, { isEnabled: isOperator });
  const [isAdding, setAdding] = useState(false);
  useSnapshot(newApiKeys);
  const [revoked, setRevoked] = useState<ApiKey>();
  const accountIds = accounts.data?.accounts.map(({ id }) => id) ?? [own];
  return (
    <Page
      title="API keys"
      actions={
        <Button
          look="primary"
          onClick={() => {
            setAdding(true);
          }}
        >
          Create an API key
        </Button>
      }
    >
      {isOperator && (
        <div class="filters">
          <ChoiceField
            label="Account"
            value={account ?? ''}
            choices={[
              { value: '', label: 'All accounts' },
              ...accountIds.map((id) => ({ value: id, label: id })),
            ]}
            onChange={(chosen) => {
              setParameters({ account: chosen });
            }}
          />
        </div>
      )}
      {newApiKeys.of(signInId).map(({ id, name, key }) => (
        <div key={id} class="notice good" role="status">
          <strong>The API key {name} is created. Copy it now: it is not shown again.</strong>
          <Code text={key} label="The new API key" />
          <Button
            onClick={() => {
              newApiKeys.remove(signInId, id);
            }}
          >
            I have stored it
          </Button>
        </div>
      ))}
      <Loaded of={keys}>
        {({ apiKeys }) =>
          apiKeys.length === 0 ? (
            <Empty title="This account has no API key.">
              <p>
                Create an API key for each service that uses Tidings, with the scopes that the service needs.
              </p>
            </Empty>
          ) : (
            <Table
              caption="API keys"
              rows={apiKeys}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Name', cell: ({ name }) => <span class="wrap">{name}</span> },
                { title: 'Account', cell: (row) => row.account },
                { title: 'Scopes', cell: ({ scopes }) => <code class="scopes">{scopes.join(', ')}</code> },
                {
                  title: 'Last used',
                  cell: ({ lastUsedAt }) => <Time at={lastUsedAt} none="no recorded use" />,
                },
                {
                  title: 'Created',
                  cell: ({ createdAt }) => <Time at={createdAt} none="from the environment" />,
                },
                { title: 'Expires', cell: ({ expiresAt }) => <Time at={expiresAt} none="never" /> },
                {
                  title: 'Actions',
                  isTitleHidden: true,
                  cell: (row) => (
                    <div class="row-action">
                      <a class="button" href={withParameters(to('audit'), { account: row.account })}>
                        Audit log
                      </a>
                      {row.createdAt !== null && (
                        <Button
                          look="danger"
                          label={`Revoke ${row.name}`}
                          onClick={() => {
                            setRevoked(row);
                          }}
                        >
                          Revoke
                        </Button>
                      )}
                    </div>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {isAdding && (
        <ApiKeyDialog
          accounts={accountIds}
          initialAccount={account ?? own}
          onClose={() => {
            setAdding(false);
          }}
          onDone={(key) => {
            setAdding(false);
            newApiKeys.add(signInId, key);
            void refresh(PATH);
          }}
        />
      )}
      {revoked !== undefined && (
        <Confirmation
          title={`Revoke the API key ${revoked.name}?`}
          verb="Revoke the API key"
          isDangerous
          action={async () => {
            await api.change('DELETE', `${PATH}/${part(revoked.id)}`);
            toasts.say('The API key is revoked.');
            await refresh(PATH);
          }}
          onClose={() => {
            setRevoked(undefined);
          }}
        >
          <p>
            Every gateway refuses further requests with this API key, and with the tokens and sessions that it
            created. This cannot be undone: the services that use the API key need a new one.
          </p>
          {revoked.id === keyId && (
            <p class="notice warn">You are signed in with this API key. Revoking it signs you out.</p>
          )}
        </Confirmation>
      )}
    </Page>
  );
}
