import type { Account, AccountList } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { useRead, useRefresh } from '../api/queries.js';
import { to, withParameters } from '../kit/address.js';
import { Badge } from '../kit/badge.js';
import { Button } from '../kit/button.js';
import { Confirmation } from '../kit/dialog.js';
import { Loaded, Page } from '../kit/page.js';
import { Table } from '../kit/table.js';
import { numberText } from '../kit/text.js';
import { Time } from '../kit/time.js';
import { useToasts } from '../kit/toasts.js';
import { AccountDialog } from './account-dialog.js';

const PATH = '/v1/accounts';

type Opened = { kind: 'new' } | { kind: 'change' | 'remove'; account: Account };

/** The accounts of the messaging service. Only operators may add, change or remove them. */
export function AccountsPage(): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  const toasts = useToasts();
  const { isOperator } = api.signIn.caller;
  const accounts = useRead<AccountList>(PATH);
  const [opened, setOpened] = useState<Opened>();
  const close = (): void => {
    setOpened(undefined);
  };
  const changed = async (text: string): Promise<void> => {
    close();
    await refresh(PATH);
    toasts.say(text);
  };
  return (
    <Page
      title="Accounts"
      actions={
        isOperator && (
          <Button
            look="primary"
            onClick={() => {
              setOpened({ kind: 'new' });
            }}
          >
            Add an account
          </Button>
        )
      }
    >
      <Loaded of={accounts}>
        {({ accounts: rows }) => (
          <Table
            caption="Accounts"
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Account',
                cell: ({ id }) => <a href={withParameters(to('api-keys'), { account: id })}>{id}</a>,
              },
              { title: 'Messaging service', cell: ({ baseUrl }) => <span class="wrap">{baseUrl}</span> },
              {
                title: 'Requests per second',
                cell: ({ requestsPerSecond }) => numberText(requestsPerSecond),
                isNumber: true,
              },
              {
                title: 'Polling',
                cell: ({ polling }) => (
                  <Badge tone={polling ? 'good' : 'plain'}>{polling ? 'on' : 'off'}</Badge>
                ),
              },
              {
                title: 'Added',
                cell: ({ createdAt }) => <Time at={createdAt} none="from the environment" />,
              },
              {
                title: 'Actions',
                isTitleHidden: true,
                cell: (account) =>
                  isOperator && account.source === 'api' ? (
                    <div class="row-action">
                      <Button
                        label={`Change ${account.id}`}
                        onClick={() => {
                          setOpened({ kind: 'change', account });
                        }}
                      >
                        Change
                      </Button>
                      <Button
                        look="danger"
                        label={`Remove ${account.id}`}
                        onClick={() => {
                          setOpened({ kind: 'remove', account });
                        }}
                      >
                        Remove
                      </Button>
                    </div>
                  ) : null,
              },
            ]}
          />
        )}
      </Loaded>
      {opened?.kind === 'new' && (
        <AccountDialog
          onClose={close}
          onDone={() =>
            void changed('The account is added. If polling is on, Tidings now reads its contacts.')
          }
        />
      )}
      {opened?.kind === 'change' && (
        <AccountDialog
          account={opened.account}
          onClose={close}
          onDone={() => void changed('The account is changed.')}
        />
      )}
      {opened?.kind === 'remove' && (
        <Confirmation
          title={`Remove the account ${opened.account.id}?`}
          verb="Remove the account"
          isDangerous
          action={async () => {
            await api.change('DELETE', `${PATH}/${part(opened.account.id)}`);
            await changed('The account is removed.');
          }}
          onClose={close}
        >
          <p>
            All data of the account in Tidings is deleted: its sends, events, webhooks, conversations and API
            keys. Sends that were not relayed yet are not sent. This cannot be undone. The messaging service
            keeps its own data.
          </p>
        </Confirmation>
      )}
    </Page>
  );
}
