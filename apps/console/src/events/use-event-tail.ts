import type { EventList } from '#client';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { useLive } from '../api/queries.js';
import { type EventFilter, selects, streamTypesOf } from './event-filter.js';
import { EventTail, MAX_ROWS, type TailState } from './event-tail.js';

/** Number of stored events that a tail begins with. */
const NEWEST = 100;

interface TailChoice {
  /** True if the tail begins with the oldest stored event. Otherwise it begins with the newest stored events. */
  isFromStart: boolean;
  /** True if reading stops once the tail is full. */
  stopsWhenFull: boolean;
  isEnabled: boolean;
}

/** Follows the events that a filter selects, while the component is shown. */
export function useEventTail(
  filter: EventFilter,
  { isFromStart, stopsWhenFull, isEnabled }: TailChoice,
): { tail: EventTail; state: TailState } {
  const api = useApi();
  const isConnecting = useRef(api.live.snapshot === 'connecting');
  /** Number of times that events were missed. Each time, the tail begins again. */
  const [restarts, setRestarts] = useState(0);
  const key = JSON.stringify([filter, isFromStart, stopsWhenFull, isEnabled, restarts]);
  const tail = useMemo(() => {
    const { types, contactId, messageId, sendId } = filter;
    const query = { types: types.join(','), contactId, messageId, sendId };
    return new EventTail({
      stopsWhenFull,
      read: (after) => {
        const range = isFromStart || after !== undefined ? { after, limit: MAX_ROWS } : { last: NEWEST };
        return api.get<EventList>('/v1/events', { ...query, ...range });
      },
    });
  }, [api, key]);
  const [, renderAgain] = useState(0);
  useEffect(() => {
    const stop = tail.subscribe(() => {
      renderAgain((count) => count + 1);
    });
    if (isEnabled) void tail.readOn();
    return () => {
      stop();
      tail.close();
    };
  }, [tail]);
  useLive(
    {
      types: isEnabled ? streamTypesOf(filter) : [],
      onEvent: (event) => {
        if (selects(filter, event)) tail.receive(event);
      },
      onGap: () => {
        // At the first connection, only the few events that were stored since the read are missing. Later, many may
        // be missing.
        if (isConnecting.current) void tail.catchUp();
        else setRestarts((count) => count + 1);
        isConnecting.current = false;
      },
    },
    [tail],
  );
  return { tail, state: tail.snapshot };
}
