import type { Conversation } from '#client';
import type { JSX } from 'preact';
import { useApi } from '../api/api.js';
import { to, withParameters } from '../kit/address.js';
import { Badge } from '../kit/badge.js';
import { SearchField } from '../kit/fields.js';
import { Empty, Failure, Loading, More } from '../kit/page.js';
import { countText, numberText } from '../kit/text.js';
import { Time } from '../kit/time.js';
import { nameOf, phoneNumberOf } from './contact-name.js';
import type { Conversations } from './use-conversations.js';

/** The conversations, newest first, with a search. */
export function ConversationList(props: {
  conversations: Conversations;
  q: string;
  openId: string;
  onSearch: (text: string) => void;
}): JSX.Element {
  const { conversations, q, openId, onSearch } = props;
  const { rows, query } = conversations;
  const api = useApi();
  const number = api.may('messages:send') ? phoneNumberOf(q) : undefined;
  const isKnown = rows.some(({ phoneNumbers }) => number !== undefined && phoneNumbers.includes(number));
  const addressOf = (id: string): string => withParameters(to('conversations', id), { q });
  return (
    <section class="conversation-list" aria-label="List of conversations">
      <SearchField
        label="Search conversations"
        placeholder={api.may('messages:send') ? 'Name, or number: +14155550100' : 'Name or number'}
        value={q}
        onSearch={onSearch}
      />
      <div class="rows">
        {query.error !== null && <Failure error={query.error} retry={query.refetch} />}
        {number !== undefined && !isKnown && (
          <a class="row" href={addressOf(number)} aria-current={openId === number ? 'true' : undefined}>
            <strong>New conversation with {number}</strong>
            <span class="quiet">Nothing was sent to this number yet.</span>
          </a>
        )}
        {query.data === undefined ? (
          query.error === null && <Loading />
        ) : rows.length > 0 ? (
          <ul aria-label="Conversations">
            {rows.map((row) => (
              <li key={row.id}>
                <Row row={row} href={addressOf(row.id)} isOpen={row.id === openId} />
              </li>
            ))}
          </ul>
        ) : (
          (number === undefined || isKnown) && <NoConversations q={q} />
        )}
        <More
          hasMore={query.hasNextPage}
          isLoading={query.isFetchingNextPage}
          onMore={query.fetchNextPage}
          label="Show older conversations"
        />
      </div>
    </section>
  );
}

function Row({ row, href, isOpen }: { row: Conversation; href: string; isOpen: boolean }): JSX.Element {
  const { preview, lastDirection, lastActivityAt, unreadCount, pendingSends, failedSends } = row;
  return (
    <a class={unreadCount > 0 ? 'row unread' : 'row'} href={href} aria-current={isOpen ? 'true' : undefined}>
      <span class="row-line">
        <strong class="name" dir="auto">
          {nameOf(row)}
        </strong>
        <span class="quiet when">
          <Time at={lastActivityAt} none="" />
        </span>
      </span>
      <span class="row-line">
        <span class="preview" dir="auto">
          {lastDirection === 'outbound' && <span class="quiet">You: </span>}
          {preview ?? (lastActivityAt === null ? 'No messages yet' : 'No text')}
        </span>
        {unreadCount > 0 && (
          <span class="unread-count">
            {unreadCount >= 100 ? '99+' : numberText(unreadCount)}
            <span class="hidden"> unread</span>
          </span>
        )}
      </span>
      {(pendingSends > 0 || failedSends > 0) && (
        <span class="marks">
          {pendingSends > 0 && <Badge tone="busy">{numberText(pendingSends)} pending</Badge>}
          {failedSends > 0 && (
            <Badge tone="bad">{countText(failedSends, 'failed send', 'failed sends')}</Badge>
          )}
        </span>
      )}
    </a>
  );
}

function NoConversations({ q }: { q: string }): JSX.Element {
  const api = useApi();
  if (q === '')
    return (
      <Empty title="There are no conversations yet.">
        <p>
          Each contact of the messaging service has a conversation, and so has each phone number with a send.
        </p>
      </Empty>
    );
  return (
    <Empty title={`Nothing was found for “${q}”.`}>
      <p>The search finds contacts by the beginnings of words in their fields, and by their phone numbers.</p>
      {api.may('messages:send') && (
        <p>To write to a new number, enter it with its country code, for example +14155550100.</p>
      )}
    </Empty>
  );
}
