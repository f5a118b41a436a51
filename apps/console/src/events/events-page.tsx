import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { useParameters } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { Empty, Failure, Loading, Page } from '../kit/page.js';
import { countText, numberText } from '../kit/text.js';
import { type EventFilter, isNarrow, patternsIn, unknownPatternIn } from './event-filter.js';
import { EventFilters } from './event-filters.js';
import { EventRows } from './event-rows.js';
import { type EventTail, MAX_ROWS, type TailState } from './event-tail.js';
import { useEventTail } from './use-event-tail.js';

/** Live events, and stored events. The selection is in the address of the page. */
export function EventsPage(): JSX.Element {
  const api = useApi();
  const [{ types = '', contactId = '', messageId = '', sendId = '', from }, setParameters] = useParameters();
  const [isPaused, setPaused] = useState(false);
  const filter: EventFilter = { types: patternsIn(types), contactId, messageId, sendId };
  const unknown = unknownPatternIn(filter.types);
  const isEnabled = unknown === undefined && api.may('events:read');
  const isFromStart = from === 'start';
  const { tail, state } = useEventTail(filter, {
    isFromStart: isNarrow(filter) || isFromStart,
    stopsWhenFull: !isNarrow(filter),
    isEnabled,
  });
  return (
    <Page
      title="Events"
      actions={
        <>
          {!isNarrow(filter) && (
            <Button
              onClick={() => {
                setParameters({ from: isFromStart ? undefined : 'start' });
              }}
            >
              {isFromStart ? 'Show the newest events' : 'Show the stored events from the start'}
            </Button>
          )}
          <Button
            look={isPaused ? 'primary' : 'normal'}
            onClick={() => {
              setPaused(!isPaused);
            }}
          >
            {isPaused ? 'Continue' : 'Pause'}
          </Button>
        </>
      }
    >
      <EventFilters />
      {!api.may('events:read') ? (
        <Empty title="The API key may not read events.">
          <p>Sign in with an API key that has the scope events:read.</p>
        </Empty>
      ) : unknown !== undefined ? (
        <Empty title={`No event type matches “${unknown}”.`}>
          <p>Enter types such as send.failed, or patterns such as message.*</p>
        </Empty>
      ) : (
        <Tail tail={tail} state={state} isPaused={isPaused} isNarrow={isNarrow(filter)} />
      )}
    </Page>
  );
}

/**
 * The rows of events. They do not move while the user has paused them, scrolled down, or moved the focus into them.
 */
function Tail(props: {
  tail: EventTail;
  state: TailState;
  isPaused: boolean;
  isNarrow: boolean;
}): JSX.Element {
  const { tail, state, isPaused, isNarrow: isAboutOne } = props;
  const { rows, waiting, isReading, hasMore, error } = state;
  const api = useApi();
  const top = useRef<HTMLDivElement>(null);
  const [isFocused, setFocused] = useState(false);
  const [isScrolled, setScrolled] = useState(false);
  useEffect(() => {
    const element = top.current;
    if (element === null) return;
    const observer = new IntersectionObserver(([entry]) => {
      setScrolled(entry !== undefined && !entry.isIntersecting && entry.boundingClientRect.top < 0);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, []);
  const isHeld = isPaused || isFocused || isScrolled;
  useEffect(() => {
    tail.hold(isHeld);
  }, [tail, isHeld]);
  const showNew = (): void => {
    tail.hold(false);
    scrollTo(0, 0);
    tail.hold(isPaused);
  };
  return (
    <div class="stack">
      <div ref={top} />
      {error !== undefined && <Failure error={error} retry={() => tail.readOn()} />}
      <p class="quiet" role="status">
        {statusText(state, isHeld, isAboutOne)}
      </p>
      {isReading && rows.length === 0 && <Loading />}
      {hasMore && !isReading && error === undefined && (
        <span class="actions">
          <Button onClick={() => void tail.readOn()}>
            {isAboutOne ? 'Search further' : `Read the next ${numberText(MAX_ROWS)} events`}
          </Button>
        </span>
      )}
      {waiting > 0 && !hasMore && (
        <div class="new-events">
          <Button look="primary" onClick={showNew}>
            {countText(waiting, 'new event', 'new events')}
          </Button>
        </div>
      )}
      {rows.length === 0 ? (
        !isReading && <NoEvents isAboutOne={isAboutOne} />
      ) : (
        <EventRows rows={rows} maySeeContacts={api.may('messages:read')} onFocus={setFocused} />
      )}
    </div>
  );
}

function statusText({ rows, isReading, hasMore }: TailState, isHeld: boolean, isAboutOne: boolean): string {
  if (isReading) return 'Reading the stored events …';
  const shown =
    rows.length >= MAX_ROWS
      ? `The list shows the latest ${numberText(MAX_ROWS)} of the events that were read.`
      : '';
  if (hasMore)
    return isAboutOne
      ? 'The event log is long: only its older part was searched.'
      : `${shown} Newer events follow.`.trim();
  return `${isHeld ? 'The list is paused. New events are not shown yet.' : 'New events appear at the top.'} ${shown}`.trim();
}

function NoEvents({ isAboutOne }: { isAboutOne: boolean }): JSX.Element {
  return isAboutOne ? (
    <Empty title="No stored event matches the filter.">
      <p>Events are deleted after some time. New events that match appear here as they happen.</p>
    </Empty>
  ) : (
    <Empty title="Waiting for the next event">
      <p>Events appear here as they happen.</p>
    </Empty>
  );
}
