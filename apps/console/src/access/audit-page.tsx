import type { AccountList, AuditEntry, AuditEntryList } from '#client';
import type { ComponentChildren, JSX } from 'preact';
import { useApi } from '../api/api.js';
import { usePages, useRead } from '../api/queries.js';
import { to, useParameters } from '../kit/address.js';
import { ShortId } from '../kit/copy.js';
import { ChoiceField } from '../kit/fields.js';
import { Empty, Loaded, More, Page } from '../kit/page.js';
import { None, Table } from '../kit/table.js';
import { Time } from '../kit/time.js';

const REFRESH_MS = 10_000;

/** Who changed what: the audit log of an account. */
export function AuditPage(): JSX.Element {
  const api = useApi();
  const { isOperator, account: own } = api.signIn.caller;
  const [{ account }, setParameters] = useParameters();
  const entries = usePages<AuditEntryList>('/v1/audit', { account }, { everyMs: REFRESH_MS });
  const accounts = useRead<AccountList>('/v1/accounts', {}, { isEnabled: isOperator });
  return (
    <Page title="Audit log">
      {isOperator && (
        <div class="filters">
          <ChoiceField
            label="Account"
            value={account ?? own}
            choices={(accounts.data?.accounts ?? [{ id: own }]).map(({ id }) => ({ value: id, label: id }))}
            onChange={(chosen) => {
              setParameters({ account: chosen === own ? undefined : chosen });
            }}
          />
        </div>
      )}
      <Loaded of={entries}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.entries);
          return rows.length === 0 ? (
            <Empty title="The audit log has no entries yet.">
              <p>
                Changes of accounts, API keys, sessions, tokens, webhooks and sends appear here. An entry is
                kept for at most 90 days.
              </p>
            </Empty>
          ) : (
            <Table
              caption="Audit log"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: 'When', cell: ({ at }) => <Time at={at} /> },
                { title: 'Action', cell: ({ action }) => action },
                { title: 'Object', cell: subjectOf },
                { title: 'By', cell: ({ account: by, keyId, tokenId }) => `${by} · ${tokenId ?? keyId}` },
                {
                  title: 'Fields',
                  cell: ({ fields }) => (fields.length === 0 ? <None /> : fields.join(', ')),
                },
                { title: 'Request', cell: ({ requestId }) => <ShortId of={requestId} /> },
              ]}
            />
          );
        }}
      </Loaded>
      <More
        hasMore={entries.hasNextPage}
        isLoading={entries.isFetchingNextPage}
        onMore={() => entries.fetchNextPage()}
      />
    </Page>
  );
}

/** Returns the object of an action, with a link if the console has a page for the object. */
function subjectOf({ action, subject, subjects }: AuditEntry): ComponentChildren {
  if (subject === null) return `${subjects?.length ?? 0} sends`;
  if (action.startsWith('webhook.') && action !== 'webhook.removed')
    return (
      <a href={to('webhooks', subject)}>
        <ShortId of={subject} />
      </a>
    );
  if (action.startsWith('send.'))
    return (
      <a href={to('sends', subject)}>
        <ShortId of={subject} />
      </a>
    );
  return <ShortId of={subject} />;
}
