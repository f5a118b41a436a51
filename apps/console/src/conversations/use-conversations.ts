import type { Conversation, ConversationList } from '#client';
import { useCallback, useMemo, useRef, useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { useLive, usePages, useRead, useRefresh } from '../api/queries.js';
import { later, type LiveRows, mergedRows, withLiveRow } from './conversation-rows.js';
import { useThrottled } from '../kit/use-throttled.js';

export const PATH = '/v1/conversations';

/** Time between two reads of a list that the stream does not keep current, in milliseconds. */
const POLL_MS = 5_000;
/** Minimum time between two reads of the list because of events, in milliseconds. */
const REFRESH_MS = 1_000;

/** The list of conversations as it changes. */
export interface Conversations {
  rows: readonly Conversation[];
  query: ReturnType<typeof usePages<ConversationList>>;
  live: LiveRows;
}

/** Reads the list of conversations, and keeps it current by the rows that the stream sends. */
export function useConversations(q: string): Conversations {
  const api = useApi();
  const refresh = useRefresh();
  const query = usePages<ConversationList>(
    PATH,
    { limit: 50, q },
    { everyMs: api.may('events:read') ? undefined : POLL_MS },
  );
  const [live, setLive] = useState<LiveRows>(new Map());
  const arrived = useRef<Conversation[]>([]);
  const readAgain = useThrottled(() => refresh(PATH), REFRESH_MS);
  // Many rows may arrive at once. They are shown together at the next rendering.
  const show = useCallback(() => {
    const rows = arrived.current.splice(0);
    setLive((before) => rows.reduce(withLiveRow, before));
  }, []);
  useLive({
    types: ['conversation.updated', 'contact.deleted'],
    onChange: (change) => {
      if (change.type !== 'conversation.updated') return;
      if (arrived.current.push(change.data) === 1) setTimeout(show, 50);
    },
    onEvent: (event) => {
      if (event.type !== 'contact.deleted') return;
      const { contactId } = event;
      setLive((before) => new Map([...before].filter(([id]) => id !== contactId)));
      readAgain();
    },
    onGap: readAgain,
  });
  const { data } = query;
  const rows = useMemo(() => {
    const pages = data?.pages ?? [];
    return mergedRows(
      {
        rows: pages.flatMap(({ conversations }) => conversations),
        hasMore: data === undefined || pages.at(-1)?.next !== null,
        isSearch: q !== '' || data === undefined,
      },
      live,
    );
  }, [data, live, q]);
  return { rows, query, live };
}

/** Reads one conversation, even if the list does not contain it, and keeps it current. */
export function useConversation(
  id: string,
  { rows, live }: Conversations,
): { conversation: Conversation | undefined; read: ReturnType<typeof useRead<Conversation>> } {
  const listed = live.get(id) ?? rows.find((row) => row.id === id);
  const replacement = [...live.values(), ...rows].find(({ replaces }) => replaces === id);
  const read = useRead<Conversation>(`${PATH}/${part(id)}`, {}, { isEnabled: id !== '' });
  const known = replacement ?? listed;
  const conversation = read.data === undefined ? known : later(read.data, known);
  return { conversation, read };
}
