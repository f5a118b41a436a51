import { type Cursor, eventToJson, formatCursor, type LoggedEvent } from '#events';

/*
 * Frames of server-sent events (HTML standard): lines, followed by an empty line. The JSON of an event is a single line,
 * because line breaks in JSON strings are escaped.
 */

/** Returns the frame of an event. Its id is the cursor after the event. */
export function eventFrame(epoch: string, event: LoggedEvent): string {
  const cursor = formatCursor({ epoch, position: event.position });
  return `id: ${cursor}\nevent: ${event.type}\ndata: ${eventToJson(event)}\n\n`;
}

/** Returns the frame of a change that is not stored. It has no id, so that it does not change the client's cursor. */
export function liveFrame(type: string, json: string): string {
  return `event: ${type}\ndata: ${json}\n\n`;
}

/** Returns a frame that sets the client's `Last-Event-ID` without an event: clients do not dispatch a frame without data. */
export function cursorFrame(cursor: Cursor): string {
  return `id: ${formatCursor(cursor)}\n\n`;
}

/** Returns a comment, which keeps the connection open through proxies. Clients ignore comments. */
export function commentFrame(text: string): string {
  return `: ${text}\n\n`;
}

/** Returns a frame that sets the client's reconnect delay, in milliseconds. */
export function retryFrame(ms: number): string {
  return `retry: ${ms}\n\n`;
}
