import type { EventList } from '#client';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { useLive } from '../api/queries.js';
import { type EventFilter, selects, streamTypesOf } from './event-filter.js';
import { EventTail, MAX_ROWS, type TailState } from './event-tail.js';

interface TailChoice {
  /** True if the tail begins with the stored events. */
  isStored: boolean;
  /** True if reading stops once the tail is full. */
  stopsWhenFull: boolean;
  isEnabled: boolean;
}

/** Follows the events that a filter selects, while the component is shown. */
export function useEventTail(
  filter: EventFilter,
  { isStored, stopsWhenFull, isEnabled }: TailChoice,
): { tail: EventTail; state: TailState } {
  const api = useApi();
  const key = JSON.stringify([filter, isStored, stopsWhenFull, isEnabled]);
  const tail = useMemo(() => {
    const { types, contactId, messageId, sendId } = filter;
    const query = { types: types.join(','), contactId, messageId, sendId, limit: MAX_ROWS };
    return new EventTail({
      after: isStored && isEnabled ? undefined : 'now',
      stopsWhenFull,
      read: (after) => api.get<EventList>('/v1/events', { ...query, after }),
    });
  }, [api, key]);
  const [, renderAgain] = useState(0);
  useEffect(() => {
    const stop = tail.subscribe(() => {
      renderAgain((count) => count + 1);
    });
    void tail.readOn();
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
    },
    [tail],
  );
  return { tail, state: tail.snapshot };
}
