import type { ApiResponseOptions } from '@nestjs/swagger';

/** What a caller has to know of the stream. */
export const STREAM_DESCRIPTION = `Each event comes as \`id\` (the cursor after it), \`event\` (its type) and \`data\` (the
event as JSON, in one line, the same bytes as everywhere else).

**Where it begins.** After \`Last-Event-ID\`, else after \`after\`, else with what comes from now on. For what is already
there, read the list first, and stream from its \`next\`.

**Resuming.** Whoever is cut off connects again with the last \`id\` as \`Last-Event-ID\` and hears what came meanwhile,
each event once. An \`id\` also comes by itself, without an event: at the start, and when events were passed over by the
filter. A cursor that is older than what is kept is answered 410; read the list from its oldest then.

**Silence.** A comment comes at once and every 15 seconds of silence. A client that takes nothing for 30 seconds is cut
off. The stream ends when the gateway stops, or when the key or the cursor is no longer good: connect again.

**Places** for callers who wait are bounded: 429 where the account has too many, 503 where the gateway has.`;

export const STREAM_REPLY: ApiResponseOptions = {
  description: 'The stream.',
  content: {
    'text/event-stream': {
      schema: { type: 'string' },
      example: 'id: MGY4…\nevent: message.received\ndata: {"id":"evt_8d0c…","type":"message.received",…}\n\n',
    },
  },
};
