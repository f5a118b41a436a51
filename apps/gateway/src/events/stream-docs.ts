import type { ApiResponseOptions } from '@nestjs/swagger';

/** Description of the event stream in the OpenAPI document. */
export const STREAM_DESCRIPTION = `The stream sends each event with \`id\` (the cursor after the event), \`event\` (the event type) and \`data\` (the
event as JSON in a single line).

**Start.** The stream starts after the cursor in the header \`Last-Event-ID\`, or, without this header, after the
cursor in the parameter \`after\`. With neither \`Last-Event-ID\` nor \`after\`, the stream sends only new events.
To get earlier events, read \`GET /v1/events\` first, and start the stream with the \`next\` of the last page as \`after\`.

**Resume.** After a disconnect, reconnect with the last received \`id\` as \`Last-Event-ID\`. After the reconnect, the
stream sends all events that the client missed, without duplicates. The stream also sends an \`id\` without an event: at
the start, and after events that the filter excludes. If the cursor has expired, the response has the status 410. After
a 410, read \`GET /v1/events\` from the oldest event.

**Conversations.** If \`types\` names \`conversation.updated\`, the stream also sends the row of each conversation that
changes, in the form of \`GET /v1/conversations\`, at most four times a second per conversation. If a row has neither a
contact nor activity, the conversation is no longer in the list: remove your copy of the row. If \`types\` names
\`send.updated\`, the stream sends \`{id, status, reference, revision}\` for each new status of a send. The stream sends
conversation rows and send statuses without an \`id\`, and does not repeat them after a reconnect. After a reconnect,
reload the list of conversations and each timeline that you show. Ignore a row or a status whose \`revision\` is lower
than the \`revision\` of the row or status that you already have.

**Keep-alive.** The stream sends a comment at the start and after every 15 seconds without an event. The gateway disconnects
a client that reads nothing for 30 seconds. The stream ends when the gateway stops, or when the API key or the cursor
becomes invalid. A client should reconnect when its stream ends.

**Limits.** The number of open streams and long polls is limited. A new stream gets the status 429 if the
account has reached its limit, and 503 if the gateway has reached its limit.`;

export const STREAM_REPLY: ApiResponseOptions = {
  description: 'A stream of events in the format of server-sent events.',
  content: {
    'text/event-stream': {
      schema: { type: 'string' },
      example: 'id: MGY4…\nevent: message.received\ndata: {"id":"evt_8d0c…","type":"message.received",…}\n\n',
    },
  },
};
