import type { Event } from '#client';
import { Component, type JSX } from 'preact';
import { to } from '../kit/address.js';
import { Badge } from '../kit/badge.js';
import { exactText, useToday } from '../kit/time.js';
import { contactIdOf } from './event-filter.js';
import { eventText, toneOf } from './event-text.js';

interface RowProps {
  event: Event;
  maySeeContacts: boolean;
  /** The current day. Times on other days are shown with their date. */
  today: string;
}

/** The rows of the live events. They render fast enough to change several times a second. */
export function EventRows(props: {
  rows: readonly Event[];
  maySeeContacts: boolean;
  /** Called when the focus enters or leaves the rows. */
  onFocus: (isFocused: boolean) => void;
}): JSX.Element {
  const { rows, maySeeContacts, onFocus } = props;
  const today = useToday();
  return (
    <ol
      class="tail"
      aria-label="Events, newest first"
      onFocusIn={() => {
        onFocus(true);
      }}
      onFocusOut={() => {
        onFocus(false);
      }}
    >
      {rows.map((event) => (
        <EventRow key={event.id} event={event} maySeeContacts={maySeeContacts} today={today} />
      ))}
    </ol>
  );
}

/** One event. An event never changes, so its row is rendered once, and again when the day changes. */
class EventRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { event, maySeeContacts, today } = this.props;
    return next.event !== event || next.maySeeContacts !== maySeeContacts || next.today !== today;
  }

  override render({ event, maySeeContacts }: RowProps): JSX.Element {
    const { id, type, timestamp } = event;
    const contactId = contactIdOf(event);
    const time = new Date(timestamp);
    return (
      <li>
        <time dateTime={timestamp} title={timestamp}>
          {exactText(time)}
        </time>
        <span class="type">
          <a href={to('events', id)}>
            <Badge tone={toneOf(type)}>{type}</Badge>
          </a>
        </span>
        <span class="contact">
          {contactId !== undefined &&
            (maySeeContacts ? <a href={to('conversations', contactId)}>{contactId}</a> : contactId)}
        </span>
        <span class="text">{eventText(event)}</span>
      </li>
    );
  }
}
