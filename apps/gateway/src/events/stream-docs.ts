import type { ApiResponseOptions } from '@nestjs/swagger';

/** Description of the event stream in the OpenAPI document. */
export const STREAM_DESCRIPTION = `The stream sends each event with \`id\` (a cursor), \`event\` (the event type)
and \`data\` (the event as JSON in a single line). The cursor marks the position directly after the event.

**Start.** The stream starts after the cursor in the header \`Last-Event-ID\`, or, without this header, after the
cursor in the parameter \`after\`. With neither \`Last-Event-ID\` nor \`after\`, the stream sends only new events.
To get earlier events, read \`GET /v1/events\` first, and start the stream with the \`next\` of the last page as \`after\`.

**Resume.** After a disconnect, reconnect with the last received \`id\` as \`Last-Event-ID\`. After the reconnect, the
stream sends all events that the client missed, without duplicates. The stream also sends an \`id\` without an event: at
the start, and after events that the filter excludes. If the cursor has expired, the response has the status 410. After
a 410, read \`GET /v1/events\` from the oldest event.

**Conversations.** If \`types\` names \`conversation.updated\`, the stream also sends each conversation that changes,
in the form of an entry in the list of \`GET /v1/conversations\`, at most four times a second per conversation. If
\`contactId\` and \`lastActivityAt\` are both null, the conversation is no longer in the list: remove your copy of it.
If \`types\` names \`send.updated\`, the stream sends \`{id, status, reference, revision}\` for each new status of a
send. The stream sends conversations and send statuses without an \`id\` line, and does not repeat them after a
reconnect. After a reconnect, reload the list of conversations and each timeline that you show. Ignore a conversation
or a send status whose \`revision\` is lower than the \`revision\` that you already have of the same conversation or send.

**Keep-alive.** The stream sends a comment at the start and after every 15 seconds without an event. The gateway disconnects
a client that reads nothing for 30 seconds. The stream ends when the gateway stops, when the API key, the token or the
cursor becomes invalid, or when the gateway may have missed a change of a conversation or send that the stream should
report. A client should reconnect when its stream ends.

**Limits.** The number of open streams and long polls is limited for each token, for all tokens of an account
together, for each account (API keys and tokens together), and for each gateway process. A new stream gets the status
503 if the limit of the gateway process is reached, and 429 if one of the other limits is reached.`;

export const STREAM_REPLY: ApiResponseOptions = {
  description: 'A stream of events in the format of server-sent events.',
  content: {
    'text/event-stream': {
      schema: { type: 'string' },
      example: 'id: MGY4…\nevent: message.received\ndata: {"id":"evt_8d0c…","type":"message.received",…}\n\n',
    },
  },
};
