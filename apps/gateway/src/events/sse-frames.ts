import { type Cursor, eventToJson, formatCursor, type LoggedEvent } from '#events';

/*
 * What a stream consists of: blocks of lines, each ended by an empty one, as the HTML standard has it ("Server-sent
 * events"). The event's JSON is one line: JSON has no line breaks but escaped ones, unless it was laid out.
 */

/** An event with the cursor after it. */
export function eventFrame(epoch: string, event: LoggedEvent): string {
  const cursor = formatCursor({ epoch, position: event.position });
  return `id: ${cursor}\nevent: ${event.type}\ndata: ${eventToJson(event)}\n\n`;
}

/** Moves the client's `Last-Event-ID` on without an event: a block without data is not dispatched, its id is kept. */
export function cursorFrame(cursor: Cursor): string {
  return `id: ${formatCursor(cursor)}\n\n`;
}

/** Says something to whoever is on the way, and nothing to the client. */
export function commentFrame(words: string): string {
  return `: ${words}\n\n`;
}

/** How long the client shall wait before it connects again, in milliseconds. */
export function retryFrame(ms: number): string {
  return `retry: ${ms}\n\n`;
}
