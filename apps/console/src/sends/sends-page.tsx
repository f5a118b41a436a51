import { SEND_STATUSES, type SendList, type SendUpdate } from '#client';
import { type InfiniteData, useQueryClient } from '@tanstack/preact-query';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { keyOf, usePages } from '../api/queries.js';
import { useParameters } from '../kit/address.js';
import { Empty, Loaded, More, Page } from '../kit/page.js';
import { MAX_SELECTED, SelectionBar } from './selection-bar.js';
import { isPhoneNumber, SendFilters } from './send-filters.js';
import { SendTable } from './send-table.js';
import { isResendable } from './send-text.js';
import { useLiveSends } from './use-live-sends.js';

const PAGE = 50;
const PATH = '/v1/sends';

/** The sends of the account, newest first. The filters are in the address. */
export function SendsPage(): JSX.Element {
  const [{ status, phoneNumber, reference }] = useParameters();
  const isKnown =
    (status === undefined || SEND_STATUSES.some((each) => each === status)) &&
    (phoneNumber === undefined || isPhoneNumber(phoneNumber));
  return (
    <Page title="Sends">
      <SendFilters />
      {isKnown ? (
        <List key={JSON.stringify([status, phoneNumber, reference])} />
      ) : (
        <Empty title="The filter in the address is not valid.">
          <p>Choose a status from the list, and enter the phone number as in +14155550123.</p>
        </Empty>
      )}
    </Page>
  );
}

function List(): JSX.Element {
  const api = useApi();
  const queries = useQueryClient();
  const [{ status, phoneNumber, reference }] = useParameters();
  const query = { status, phoneNumber, reference, limit: PAGE };
  const pages = usePages<SendList>(PATH, query);
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const sends = pages.data?.pages.flatMap((page) => page.sends) ?? [];
  useLiveSends(
    () => true,
    (update) => {
      queries.setQueryData<InfiniteData<SendList>>(
        keyOf(api, PATH, query, 'pages'),
        (data) => data && { ...data, pages: data.pages.map((page) => withStatus(page, update)) },
      );
    },
    Math.max(1, pages.data?.pages.length ?? 1),
  );
  const selectable = sends.filter(isResendable);
  const selected = selectable.filter(({ id }) => ids.has(id)).slice(0, MAX_SELECTED);
  return (
    <Loaded of={pages}>
      {() => (
        <>
          {api.may('messages:send') && (
            <SelectionBar
              selectable={selectable}
              selected={selected}
              onSelect={(chosen) => {
                setIds(new Set(chosen));
              }}
            />
          )}
          {sends.length === 0 ? (
            <NoSends
              isFiltered={(status ?? phoneNumber ?? reference) !== undefined}
              hasMore={pages.hasNextPage}
            />
          ) : (
            <SendTable
              sends={sends}
              selection={
                api.may('messages:send') && selectable.length > 0
                  ? {
                      ids: new Set(selected.map(({ id }) => id)),
                      toggle: (id) => {
                        setIds(toggled(new Set(selected.map((send) => send.id)), id));
                      },
                    }
                  : undefined
              }
            />
          )}
          <More
            hasMore={pages.hasNextPage}
            isLoading={pages.isFetchingNextPage}
            onMore={() => pages.fetchNextPage()}
          />
        </>
      )}
    </Loaded>
  );
}

function NoSends({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }): JSX.Element {
  if (hasMore) return <Empty title="None of the newest sends matches the filter. Older sends may match." />;
  if (isFiltered) return <Empty title="No send matches the filter." />;
  return (
    <Empty title="No sends yet">
      <p>Sends appear here once a program or a person sends a message with Tidings.</p>
    </Empty>
  );
}

/** Returns the page with the new status of one send. */
function withStatus(page: SendList, { id, status }: SendUpdate): SendList {
  if (!page.sends.some((send) => send.id === id)) return page;
  return { ...page, sends: page.sends.map((send) => (send.id === id ? { ...send, status } : send)) };
}

function toggled(ids: Set<string>, id: string): Set<string> {
  if (!ids.delete(id)) ids.add(id);
  return ids;
}
