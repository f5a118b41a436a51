import type { EventList, EventStream } from '#client';
import type { CommandContext } from '../command-context.js';

/** An open stream of events, and the position at which it starts. */
export interface OpenedStream {
  stream: EventStream;
  /** Cursor at which the stream starts, even if the user asked for `now`. */
  start: string;
}

/** Which events a stream returns. */
interface StreamSelection {
  after: string;
  types?: readonly string[] | undefined;
  contact?: string | undefined;
}

/**
 * Opens a stream of events. Because a stream tries to connect endlessly, this function first reads the events once.
 * So a wrong address, API key or cursor makes the command fail at once. The stream reports a lost connection on
 * standard error.
 * @throws what the client throws if the gateway cannot be reached or rejects the request
 */
export async function openStream(
  context: CommandContext,
  { after, types, contact }: StreamSelection,
): Promise<OpenedStream> {
  const { output, readingSignal: signal } = context;
  const query = new URLSearchParams({ after, limit: '1' });
  const page = await context.read<EventList>(`/v1/events?${query.toString()}`, 'next');
  const start = after === 'now' ? page.next : after;
  let isLost = false;
  const stream = (await context.client()).events({
    ...{ after: start, types, contactId: contact, signal },
    onConnect: () => {
      isLost = false;
    },
    onDisconnect: () => {
      if (!isLost && !signal.aborted)
        output.note('The connection to the gateway is lost. Retrying until the gateway answers …');
      isLost = true;
    },
  });
  return { stream, start };
}
