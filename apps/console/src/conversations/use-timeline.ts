import type { Conversation, Event, Send, Timeline } from '#client';
import { useEffect, useReducer, useRef, useState } from 'preact/hooks';
import { isNotFound, part, useApi } from '../api/api.js';
import { useLive } from '../api/queries.js';
import {
  EMPTY_TIMELINE,
  type Entry,
  reduceTimeline,
  shownEntries,
  type TimelineAction,
  type TimelineState,
} from './timeline-state.js';
import { PATH } from './use-conversations.js';
import { useThrottled } from '../kit/use-throttled.js';

/** Number of entries of a page. */
const LIMIT = 30;
/** Minimum time between two reads of the first page, in milliseconds. */
const REFRESH_MS = 1_000;
/** Time between two reads while there is no stream, or while messages cannot be read, in milliseconds. */
const POLL_MS = 5_000;
/** Types of the stored events that contain the reason for which a send failed. */
const SEND_EVENTS = ['send.failed', 'send.unknown', 'send.expired', 'send.cancelled'] as const;

/** The timeline of a conversation as it changes. */
export interface TimelineView {
  state: TimelineState;
  /** Oldest first. */
  entries: readonly Entry[];
  error: unknown;
  refresh: () => void;
  /** Shows a send of this page before the stream reports it. */
  put: (send: Send) => void;
  showEarlier: () => Promise<void>;
  isLoadingEarlier: boolean;
}

/** Reads the timeline of a conversation, and keeps it current. */
export function useTimeline({ id, phoneNumbers, contactId }: Conversation): TimelineView {
  const api = useApi();
  const [state, act] = useReducer<TimelineState, TimelineAction>(reduceTimeline, EMPTY_TIMELINE);
  const [error, setError] = useState<unknown>();
  const [isLoadingEarlier, setLoadingEarlier] = useState(false);
  const shown = useRef(true);
  useEffect(
    () => () => {
      shown.current = false;
    },
    [],
  );
  const read = async (cursor?: string): Promise<void> => {
    const askedAt = performance.now();
    try {
      const page = await api.get<Timeline>(`${PATH}/${part(id)}/timeline`, { limit: LIMIT, cursor });
      if (!shown.current) return;
      act({ type: 'page', page, isFirst: cursor === undefined, askedAt });
      setError(undefined);
    } catch (reason) {
      // Nothing was sent to this number yet.
      if (isNotFound(reason) && contactId === null) setError(undefined);
      else setError(reason);
    }
  };
  const refresh = useThrottled(() => read(), REFRESH_MS);
  useEffect(refresh, [id]);
  const everyMs = state.isPartial || !api.may('events:read') ? POLL_MS : undefined;
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(refresh, everyMs);
    return () => {
      clearInterval(timer);
    };
  }, [everyMs]);
  const isOurs = (send: Send): boolean =>
    send.contactId === null ? phoneNumbers.includes(send.phoneNumber) : send.contactId === contactId;
  useLive(
    {
      types: ['message.*', 'conversation.updated', 'send.updated', ...SEND_EVENTS],
      onEvent: (event) => {
        const now = performance.now();
        if (isMessageEvent(event)) {
          if (event.contactId === contactId) act({ type: 'event', event, now });
        } else if (isSendEvent(event) && isOurs(event.data.send))
          act({ type: 'send', send: event.data.send, now });
      },
      onChange: (change) => {
        if (change.type === 'send.updated')
          act({ type: 'update', update: change.data, now: performance.now() });
        // A `send.updated` notification does not contain the conversation. So a send that another client created
        // appears only when the row of the conversation changes.
        else if (change.data.id === id) refresh();
      },
      onGap: () => {
        act({ type: 'gap' });
        refresh();
      },
    },
    [id, contactId, phoneNumbers.join()],
  );
  return {
    state,
    entries: shownEntries(state),
    error,
    refresh,
    put: (send) => {
      act({ type: 'send', send, now: performance.now() });
    },
    showEarlier: async () => {
      if (typeof state.earlier !== 'string') return;
      setLoadingEarlier(true);
      await read(state.earlier);
      setLoadingEarlier(false);
    },
    isLoadingEarlier,
  };
}

type MessageEvent = Extract<Event, { type: `message.${string}` }>;
type SendEvent = Extract<Event, { type: (typeof SEND_EVENTS)[number] }>;

function isMessageEvent(event: Event): event is MessageEvent {
  return event.type.startsWith('message.');
}

function isSendEvent(event: Event): event is SendEvent {
  return SEND_EVENTS.some((type) => type === event.type);
}
