import type { Conversation } from '#client';
import { Fragment, type JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Empty, More } from '../kit/page.js';
import { dayText } from './day-text.js';
import { MessageBubble } from './message-bubble.js';
import { SendBubble } from './send-bubble.js';
import { keyOf } from './timeline-state.js';
import { useSeen } from './use-seen.js';
import type { TimelineView } from './use-timeline.js';

/** The messages and sends of a conversation, as a phone shows them: the newest at the lower edge. */
export function TimelineList(props: { conversation: Conversation; timeline: TimelineView }): JSX.Element {
  const { conversation, timeline } = props;
  const { entries, state } = timeline;
  const newest = useRef<HTMLLIElement>(null);
  const newestInbound = entries.findLast(
    (entry) => entry.kind === 'message' && entry.message.direction === 'inbound',
  );
  const newestKey = newestInbound === undefined ? undefined : keyOf(newestInbound);
  const upTo = newestInbound?.kind === 'message' ? String(newestInbound.message.id) : undefined;
  useSeen(conversation, upTo, newest);
  const days = entries.map(({ at }) => dayText(at));
  return (
    <div class="timeline" role="log" aria-label="Messages" tabIndex={0}>
      <div class="timeline-content">
        <More
          hasMore={typeof state.earlier === 'string'}
          isLoading={timeline.isLoadingEarlier}
          onMore={timeline.showEarlier}
          label="Show earlier"
        />
        {entries.length === 0 && typeof state.earlier !== 'string' && (
          <Empty title="There are no messages yet." />
        )}
        <ol>
          {entries.map((entry, i) => {
            const key = keyOf(entry);
            const isNewDay = days[i] !== days[i - 1];
            return (
              <Fragment key={key}>
                {isNewDay && <li class="day">{days[i]}</li>}
                {entry.kind === 'message' ? (
                  <MessageBubble entry={entry} elementRef={key === newestKey ? newest : null} />
                ) : (
                  <SendBubble entry={entry} onChanged={timeline.put} />
                )}
              </Fragment>
            );
          })}
        </ol>
      </div>
    </div>
  );
}
