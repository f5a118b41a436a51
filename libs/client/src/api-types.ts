// Generated from the OpenAPI document by `npm run generate:client`.

export type ClientOptions = {
    baseUrl: string;
};

export type QueuedSend = {
    status: 'queued';
    message: string;
    id: string;
};

export type SendFile = {
    name: string;
    contentType: string;
    size: number;
    sha256: string;
};

export type SendAttempt = {
    at: string;
    outcome: 'accepted' | 'not_taken' | 'refused' | 'ambiguous';
    httpStatus?: number;
    error?: string;
};

export type SendLookupCandidate = {
    contactId: string;
    messageId: string;
    /**
     * The timestamp of the message, by the clock of the messaging service.
     */
    sentAt: string | null;
    /**
     * Why the look-up (search for the message of the send) did not record the message `messageId` as the message of the send.
     */
    reason: string;
    /**
     * Id of the send to which the message `messageId` belongs, or null if the message belongs to no send.
     */
    sendId: string | null;
};

export type SendLookup = {
    at: string;
    /**
     * Outcome of the look-up (search for the message of the send). `found`: a message was recorded as the message of the send. `ambiguous`: several messages match the send equally well, so no message was recorded as the message of the send. `not_found`: no message matches the send. `incomplete`: some messages could not be read, and none of the messages that were read matches the send. `failed`: the look-up could not read the messages of the recipient.
     */
    outcome: 'found' | 'ambiguous' | 'not_found' | 'incomplete' | 'failed';
    /**
     * A message that was sent before this time cannot be the message of the send.
     */
    since: string;
    /**
     * Contacts whose messages the look-up read, or tried to read, to find the message of the send, at most 20.
     */
    contactIds: Array<string>;
    /**
     * Number of messages that the look-up read from the messaging service to find the message of the send. A message that was on two of the pages counts twice.
     */
    messagesRead: number;
    /**
     * At most 5 messages that have the text of the send, but were not recorded as its message.
     */
    candidates: Array<SendLookupCandidate>;
    /**
     * Why the look-up (search for the message of the send) failed. Null if the look-up did not fail.
     */
    error: string | null;
};

export type Send = {
    id: string;
    status: 'scheduled' | 'queued' | 'relaying' | 'accepted' | 'sent' | 'delivered' | 'read' | 'unknown' | 'failed' | 'cancelled' | 'expired';
    phoneNumber: string;
    type: string;
    message: string | null;
    fileUrl: string | null;
    file: SendFile | null;
    reference: string | null;
    metadata: {
        [key: string]: unknown;
    } | null;
    /**
     * Undocumented fields of the send request, which are passed on to the messaging service.
     */
    extraFields: {
        [key: string]: string;
    };
    createdAt: string;
    updatedAt: string;
    sendAt: string | null;
    expiresAt: string | null;
    attempts: Array<SendAttempt>;
    contactId: string | null;
    messageId: string | null;
    /**
     * Reason why the send failed, expired or is `unknown`, or why Tidings looks for its message. Otherwise null.
     */
    reason: string | null;
    /**
     * Look-ups of the send among the messages of the recipient. The list has at most 20 look-ups, oldest first: the first look-up and the latest 19 look-ups. A poll that found the message of the send is listed as a look-up only if Tidings did not yet know whether the messaging service had accepted the send. Sends in events and timelines do not have the field `lookups`.
     */
    lookups?: Array<SendLookup>;
};

export type SendList = {
    /**
     * The sends of the page, newest first. A page may have fewer sends than `limit`, or none, even if more pages follow.
     */
    sends: Array<Send>;
    /**
     * Cursor of the next page, or null on the last page.
     */
    next: string | null;
    /**
     * True if another page follows.
     */
    hasMore: boolean;
};

export type SendsResolution = {
    /**
     * `sent` and `failed` set the status of a send that is `unknown`. `resend` sends the message of an `unknown` or `failed` send again. Before a resend, Tidings checks whether the messaging service already has the message. After a resend, the recipient may get the message twice.
     */
    outcome: 'resend' | 'sent' | 'failed';
    ids: Array<string>;
};

export type ResolutionResult = {
    id: string;
    resolved: boolean;
    /**
     * The send after it was resolved. Null if `resolved` is false.
     */
    send: Send | null;
    /**
     * Null if the send was resolved. `not_found`: no send has this id. `conflict`: the current status of the send does not allow this outcome. `unavailable`: Redis did not answer, and the send may or may not have been resolved; repeat the request later with the ids whose result has this code.
     */
    code: 'not_found' | 'conflict' | 'unavailable' | null;
    /**
     * Why the send is not reported as resolved; with the code `unavailable`, it may have been resolved all the same. Null if `resolved` is true.
     */
    detail: string | null;
};

export type ResolutionResults = {
    /**
     * One result per send id, in the order of the request. A send id that occurs several times in the request has only one result.
     */
    results: Array<ResolutionResult>;
};

export type SendResolution = {
    /**
     * `sent` and `failed` set the status of a send that is `unknown`. `resend` sends the message of an `unknown` or `failed` send again. Before a resend, Tidings checks whether the messaging service already has the message. After a resend, the recipient may get the message twice.
     */
    outcome: 'resend' | 'sent' | 'failed';
};

export type Conversation = {
    /**
     * Id of the contact. If no contact has the phone number of the conversation, the id is the phone number.
     */
    id: string;
    contactId: string | null;
    /**
     * Phone number whose conversation this conversation replaced when Tidings learned that the number belongs to the contact. Remove your copy of the conversation whose `id` is this number. Null if this conversation replaced none.
     */
    replaces: string | null;
    /**
     * Phone numbers of the conversation. The phone number of the last message comes first.
     */
    phoneNumbers: Array<string>;
    /**
     * The contact as the messaging service returns it. Null if Tidings knows no contact for the conversation.
     */
    contact: {
        [key: string]: unknown;
    } | null;
    /**
     * Beginning of the text of the last message or send, at most 280 characters. Null if the last message or send has no text, or if the conversation has no message or send.
     */
    preview: string | null;
    /**
     * Direction of the last message or send. `other` means that the messaging service gave an undocumented direction. Null if the conversation has no message or send.
     */
    lastDirection: 'inbound' | 'outbound' | 'other' | null;
    /**
     * Time of the last message or send. The time of a message is its timestamp or the time when it was first seen, whichever is earlier. The time of a send is the time when Tidings stored it. Null if the conversation has no message or send.
     */
    lastActivityAt: string | null;
    /**
     * Number of new inbound messages that were neither seen nor answered, at most 100.
     */
    unreadCount: number;
    /**
     * Time of the first inbound message after the last outbound message. Null if no inbound message is newer than the last outbound message.
     */
    waitingSince: string | null;
    /**
     * Number of sends with the status `scheduled`, `queued`, `relaying` or `accepted`.
     */
    pendingSends: number;
    /**
     * Number of stored sends with the status `failed`, `expired` or `unknown`.
     */
    failedSends: number;
    /**
     * Increases with every change of the conversation. Ignore the data of a conversation if you already have the same conversation with a higher `revision`.
     */
    revision: number;
};

export type ConversationList = {
    /**
     * The conversations of the page, the newest first.
     */
    conversations: Array<Conversation>;
    /**
     * Cursor of the next page, or null on the last page.
     */
    next: string | null;
    /**
     * Cursor of the event log: the end of the log just before Tidings read this page of conversations. Read the events after this cursor to keep the page up to date. Some events after the cursor may report changes that the page already includes.
     */
    after: string;
};

export type SeenRequest = {
    /**
     * Id of the last message that was seen. Earlier inbound messages of the conversation count as seen too.
     */
    upTo: string;
};

export type SendOfMessage = {
    id: string;
    status: 'scheduled' | 'queued' | 'relaying' | 'accepted' | 'sent' | 'delivered' | 'read' | 'unknown' | 'failed' | 'cancelled' | 'expired';
    reference: string | null;
};

export type MessageEntry = {
    kind: 'message';
    /**
     * Timestamp of the message. Null if the messaging service gave no timestamp, or one that cannot be read or is not after the beginning of 1970. Such messages are last in the timeline. If Tidings found the message of a send later than a minute before the first page of the timeline was requested, `at` may be the time of the send instead of the timestamp of the message, also on the following pages.
     */
    at: string | null;
    message: Message;
    /**
     * The send that caused the message. Null if Tidings did not send the message, or no longer stores the send.
     */
    send: SendOfMessage | null;
};

export type SendEntry = {
    kind: 'send';
    /**
     * Time when Tidings stored the send, or the `sendAt` of a scheduled send.
     */
    at: string;
    send: Send;
    /**
     * True if the send waits for its `sendAt`; otherwise the field is absent.
     */
    scheduled?: true;
};

export type Timeline = {
    /**
     * The entries of the page, newest first. A page may have fewer entries than `limit`, or none, even if more pages follow.
     */
    timeline: Array<MessageEntry | SendEntry>;
    /**
     * Cursor of the next page. Null on the last page, and if `partial` is true.
     */
    next: string | null;
    /**
     * Cursor of the event log: the end of the log just before Tidings read this page of the timeline. The events after this cursor report the new, changed and deleted messages that the page does not include, and the outcomes of sends. A new send has no event until it has an outcome; use `send.updated` of the event stream.
     */
    after: string;
    /**
     * True if the messages could not be read from the messaging service, or are not in order of time and too many to be sorted. The page then has only sends, and the first page also has a preview of the last message. If `partial` is true, request the page again later.
     */
    partial: boolean;
};

export type Event = ({
    type: 'message.received';
} & MessageReceivedEvent) | ({
    type: 'message.sent';
} & MessageSentEvent) | ({
    type: 'message.created';
} & MessageCreatedEvent) | ({
    type: 'message.delivered';
} & MessageDeliveredEvent) | ({
    type: 'message.read';
} & MessageReadEvent) | ({
    type: 'message.updated';
} & MessageUpdatedEvent) | ({
    type: 'message.deleted';
} & MessageDeletedEvent) | ({
    type: 'contact.created';
} & ContactCreatedEvent) | ({
    type: 'contact.updated';
} & ContactUpdatedEvent) | ({
    type: 'contact.deleted';
} & ContactDeletedEvent) | ({
    type: 'contact.resynced';
} & ContactResyncedEvent) | ({
    type: 'send.accepted';
} & SendAcceptedEvent) | ({
    type: 'send.unconfirmed';
} & SendUnconfirmedEvent) | ({
    type: 'send.sent';
} & SendSentEvent) | ({
    type: 'send.failed';
} & SendFailedEvent) | ({
    type: 'send.unknown';
} & SendUnknownEvent) | ({
    type: 'send.cancelled';
} & SendCancelledEvent) | ({
    type: 'send.expired';
} & SendExpiredEvent) | ({
    type: 'upstream.unavailable';
} & UpstreamUnavailableEvent) | ({
    type: 'upstream.recovered';
} & UpstreamRecoveredEvent) | ({
    type: 'account.suspect';
} & AccountSuspectEvent) | ({
    type: 'webhook.disabled';
} & WebhookDisabledEvent) | ({
    type: 'webhook.test';
} & WebhookTestEvent);

export type EventList = {
    events: Array<Event>;
    /**
     * Cursor to pass as `after` in the next request.
     */
    next: string;
    /**
     * True if more events can be read now. A filter, or the contacts to which a token is restricted, may exclude all of them.
     */
    hasMore: boolean;
};

export type NewWebhook = {
    /**
     * URL to which Tidings sends events with POST.
     */
    url: string;
    /**
     * Event types to deliver. By default, all event types are delivered.
     */
    eventTypes?: Array<string> | null;
    /**
     * Ids of contacts: only `message.*` and `contact.*` events of these contacts are delivered. By default, all events are delivered.
     */
    contactIds?: Array<string> | null;
    description?: string | null;
    /**
     * HTTP headers to add to every request to the webhook. These HTTP headers are not allowed: `webhook-*`, `content-*`, `proxy-*`, `host`, `user-agent`, `expect`, `traceparent`, and connection headers such as `keep-alive`.
     */
    headers?: {
        [key: string]: string;
    } | null;
    /**
     * Maximum number of simultaneous requests to the webhook, over all workers. The default is `WEBHOOK_MAX_CONCURRENCY`.
     */
    maxConcurrency?: number | null;
    /**
     * Maximum number of requests per second to the webhook on average, over all workers. After a time without requests, Tidings may send the requests of one second at once. By default, there is no limit.
     */
    rateLimitPerSecond?: number | null;
    /**
     * True if the events of each contact are delivered one at a time, in the order of `sequence`. An ordered webhook gets the next event of a contact only after the previous delivery has succeeded or permanently failed. Events without a contact are also delivered one at a time, in the same way as the events of one contact. Default: `false`.
     */
    ordered?: boolean | null;
    /**
     * True if events are delivered to the webhook. Default: `true`.
     */
    enabled?: boolean | null;
};

export type CreatedWebhook = {
    id: string;
    url: string;
    eventTypes: Array<string> | null;
    contactIds: Array<string> | null;
    description: string | null;
    headers: {
        [key: string]: string;
    };
    maxConcurrency: number | null;
    rateLimitPerSecond: number | null;
    ordered: boolean;
    enabled: boolean;
    /**
     * Reason why Tidings disabled the webhook, or null if Tidings did not disable it.
     */
    disabledReason: string | null;
    createdAt: string;
    updatedAt: string;
    /**
     * Time of the first failed attempt to deliver to the webhook after the last successful delivery. Null if the last attempt to deliver to the webhook did not fail, or if no attempt was made since the webhook was created, enabled or disabled, or got another URL.
     */
    failingSince: string | null;
    /**
     * Time when a delivery to the webhook last succeeded. Null if no delivery to the webhook has succeeded, or if the time of the last success is not known.
     */
    lastSuccessAt: string | null;
    /**
     * No attempt begins before this time, because the receiver requested a pause with status 429 and `Retry-After`, or is overloaded. A `PATCH` with only `"enabled": true` ends the pause. Null if the webhook is not paused.
     */
    pausedUntil: string | null;
    /**
     * Time since which events wait in the event log because the webhook has too many pending deliveries. The webhook misses events that are deleted from the event log before their deliveries are created. Null if no event waits.
     */
    waitingSince: string | null;
    /**
     * Number of pending deliveries.
     */
    pending: number;
    /**
     * Signing secret, with which you verify the signature of each delivery.
     */
    secret: string;
};

export type Webhook = {
    id: string;
    url: string;
    eventTypes: Array<string> | null;
    contactIds: Array<string> | null;
    description: string | null;
    headers: {
        [key: string]: string;
    };
    maxConcurrency: number | null;
    rateLimitPerSecond: number | null;
    ordered: boolean;
    enabled: boolean;
    /**
     * Reason why Tidings disabled the webhook, or null if Tidings did not disable it.
     */
    disabledReason: string | null;
    createdAt: string;
    updatedAt: string;
    /**
     * Time of the first failed attempt to deliver to the webhook after the last successful delivery. Null if the last attempt to deliver to the webhook did not fail, or if no attempt was made since the webhook was created, enabled or disabled, or got another URL.
     */
    failingSince: string | null;
    /**
     * Time when a delivery to the webhook last succeeded. Null if no delivery to the webhook has succeeded, or if the time of the last success is not known.
     */
    lastSuccessAt: string | null;
    /**
     * No attempt begins before this time, because the receiver requested a pause with status 429 and `Retry-After`, or is overloaded. A `PATCH` with only `"enabled": true` ends the pause. Null if the webhook is not paused.
     */
    pausedUntil: string | null;
    /**
     * Time since which events wait in the event log because the webhook has too many pending deliveries. The webhook misses events that are deleted from the event log before their deliveries are created. Null if no event waits.
     */
    waitingSince: string | null;
    /**
     * Number of pending deliveries.
     */
    pending: number;
};

export type WebhookList = {
    webhooks: Array<Webhook>;
};

export type WebhookChanges = {
    /**
     * URL to which Tidings sends events with POST.
     */
    url?: string;
    /**
     * Event types to deliver, or null for all event types.
     */
    eventTypes?: Array<string> | null;
    /**
     * Ids of contacts: only `message.*` and `contact.*` events of these contacts are delivered. Null to deliver all events.
     */
    contactIds?: Array<string> | null;
    description?: string | null;
    /**
     * HTTP headers to add to every request to the webhook. These HTTP headers are not allowed: `webhook-*`, `content-*`, `proxy-*`, `host`, `user-agent`, `expect`, `traceparent`, and connection headers such as `keep-alive`. The given headers replace all existing headers. Null removes all headers.
     */
    headers?: {
        [key: string]: string;
    } | null;
    /**
     * Maximum number of simultaneous requests to the webhook, over all workers. Null sets the limit to `WEBHOOK_MAX_CONCURRENCY`.
     */
    maxConcurrency?: number | null;
    /**
     * Maximum number of requests per second to the webhook on average, over all workers. After a time without requests, Tidings may send the requests of one second at once. Null removes the limit.
     */
    rateLimitPerSecond?: number | null;
    /**
     * True if the events of each contact are delivered one at a time, in the order of `sequence`. An ordered webhook gets the next event of a contact only after the previous delivery has succeeded or permanently failed. Events without a contact are also delivered one at a time, in the same way as the events of one contact.
     */
    ordered?: boolean;
    /**
     * Set `enabled` to true to resume the delivery of new events; missed events can then be replayed. For a webhook that is enabled, a request with this field alone ends a pause (`pausedUntil`). Set `enabled` to false to stop deliveries. When a webhook is disabled, its pending deliveries end with the status `failed`, and the events of its pending deliveries count as missed.
     */
    enabled?: boolean;
};

export type SigningSecret = {
    secret: string;
};

export type SecretRotation = {
    /**
     * Maximum time for which the previous signing secrets stay valid, in seconds. With the value 0, the previous signing secrets become invalid immediately. Default: `86400`.
     */
    overlapSeconds?: number | null;
};

export type RotatedSecret = {
    secret: string;
    /**
     * Time after which no previous signing secret is valid.
     */
    previousExpireAt: string;
};

export type StartedTest = {
    /**
     * Id of the `webhook.test` event.
     */
    eventId: string;
    /**
     * Id of the delivery of the `webhook.test` event. Tidings creates the delivery shortly after the response.
     */
    deliveryId: string;
};

export type DeliveryAttempt = {
    at: string;
    durationMs: number;
    /**
     * HTTP status of the response, or null if there was no response.
     */
    statusCode: number | null;
    /**
     * First KB of the body of the response. Empty if there was no response.
     */
    reply: string;
    /**
     * Reason why no complete response arrived, such as a timeout. Null if the response arrived, or at least the first KB of its body: then `statusCode` shows whether the attempt succeeded.
     */
    error: string | null;
};

export type Delivery = {
    id: string;
    webhookId: string;
    eventId: string;
    eventType: 'message.received' | 'message.sent' | 'message.created' | 'message.delivered' | 'message.read' | 'message.updated' | 'message.deleted' | 'contact.created' | 'contact.updated' | 'contact.deleted' | 'contact.resynced' | 'send.accepted' | 'send.unconfirmed' | 'send.sent' | 'send.failed' | 'send.unknown' | 'send.cancelled' | 'send.expired' | 'upstream.unavailable' | 'upstream.recovered' | 'account.suspect' | 'webhook.disabled' | 'webhook.test';
    contactId: string | null;
    /**
     * `missed` means that the event was deleted from the event log before it could be delivered.
     */
    status: 'pending' | 'succeeded' | 'failed' | 'missed';
    /**
     * Reason why the delivery failed or was missed. Null if the delivery is pending or succeeded.
     */
    reason: string | null;
    /**
     * The latest 100 attempts, oldest first.
     */
    attempts: Array<DeliveryAttempt>;
    createdAt: string;
    /**
     * Earliest time of the next attempt, or null during an attempt and after the last attempt. The attempt begins later while the webhook is paused (`pausedUntil`) or has reached its maximum number of simultaneous requests or of requests per second, and while `blockedBy` is set.
     */
    nextAttemptAt: string | null;
    /**
     * Id of the earlier delivery that must finish before this delivery is attempted, because the webhook is `ordered`. Null if this delivery does not wait for another delivery.
     */
    blockedBy: string | null;
    finishedAt: string | null;
};

export type DeliveryList = {
    /**
     * The deliveries of the page, newest first.
     */
    deliveries: Array<Delivery>;
    /**
     * Cursor of the next page, or null on the last page.
     */
    next: string | null;
    /**
     * True if another page follows.
     */
    hasMore: boolean;
};

export type NewDelivery = {
    /**
     * Id of the event to deliver. The event must still be in the event log.
     */
    eventId: string;
};

export type NewReplay = {
    /**
     * Replays events from this time on.
     */
    since: string;
    /**
     * Replays events before this time. By default, events up to now are replayed.
     */
    until?: string | null;
    /**
     * Event types to replay. By default, all event types of the webhook are replayed.
     */
    eventTypes?: Array<string> | null;
    /**
     * Selects the events to replay. `failed` selects events whose delivery failed. `missed` selects events that were recorded before the webhook existed, while it was disabled, or while it had too many pending deliveries. `pending` selects events whose delivery waits for its next attempt; the replay makes the delivery due now. `all` selects all events except those with a pending delivery. Default: `failed`.
     */
    only?: 'failed' | 'missed' | 'pending' | 'all' | null;
    /**
     * Set to true to count the deliveries of a replay without starting the replay. A later replay can attempt more or fewer deliveries than a dry run counted, because events are recorded and delivered in the meantime. Default: `false`.
     */
    dryRun?: boolean | null;
};

export type StartedReplay = {
    /**
     * Number of deliveries that the replay will attempt. With `dryRun`, the number of deliveries that a replay would attempt now.
     */
    count: number;
};

export type NewAccount = {
    id: string;
    /**
     * Base address of the messaging service, including `/v1`.
     */
    baseUrl: string;
    /**
     * API key of the account at the messaging service. The key is stored encrypted and never shown.
     */
    apiKey: string;
    /**
     * Maximum number of requests per second to the messaging service, over all processes. The default is the value of `UPSTREAM_REQUESTS_PER_SECOND` at the gateway.
     */
    requestsPerSecond?: number | null;
    /**
     * True if Tidings polls the contacts and messages of the account and emits events. Default: `true`.
     */
    polling?: boolean | null;
};

export type Account = {
    id: string;
    baseUrl: string;
    requestsPerSecond: number;
    polling: boolean;
    /**
     * Origin of the account settings: environment variables or this API.
     */
    source: 'environment' | 'api';
    /**
     * Time when the account was created. Null if the settings of the account come from environment variables.
     */
    createdAt: string | null;
    /**
     * Time when the account was last changed. Null if the settings of the account come from environment variables.
     */
    updatedAt: string | null;
};

export type AccountList = {
    accounts: Array<Account>;
};

export type AccountChanges = {
    /**
     * Base address of the messaging service, including `/v1`.
     */
    baseUrl?: string | null;
    /**
     * API key of the account at the messaging service. The key is stored encrypted and never shown.
     */
    apiKey?: string | null;
    /**
     * Maximum number of requests per second to the messaging service, over all processes.
     */
    requestsPerSecond?: number | null;
    /**
     * True if Tidings polls the contacts and messages of the account and emits events.
     */
    polling?: boolean | null;
};

export type NewApiKey = {
    account: string;
    name: string;
    scopes: Array<'messages:send' | 'messages:read' | 'webhooks:manage' | 'events:read' | 'admin'>;
    /**
     * Time when the API key expires. By default, the API key does not expire.
     */
    expiresAt?: string | null;
};

export type CreatedApiKey = {
    /**
     * Id of the API key. The id is `environment` for the API key in the environment variable `API_KEY`.
     */
    id: string;
    account: string;
    name: string;
    scopes: Array<'messages:send' | 'messages:read' | 'webhooks:manage' | 'events:read' | 'admin'>;
    /**
     * Creation time, or null for the API key in the environment variable `API_KEY`.
     */
    createdAt: string | null;
    /**
     * Time when the API key expires, or null if the API key does not expire.
     */
    expiresAt: string | null;
    /**
     * Time when the API key or one of its tokens was last used, or null if no use was recorded. `lastUsedAt` may be up to a minute out of date.
     */
    lastUsedAt: string | null;
    /**
     * The secret value of the API key. Only this response shows the value; Tidings stores only a hash of the value.
     */
    key: string;
};

export type ApiKey = {
    /**
     * Id of the API key. The id is `environment` for the API key in the environment variable `API_KEY`.
     */
    id: string;
    account: string;
    name: string;
    scopes: Array<'messages:send' | 'messages:read' | 'webhooks:manage' | 'events:read' | 'admin'>;
    /**
     * Creation time, or null for the API key in the environment variable `API_KEY`.
     */
    createdAt: string | null;
    /**
     * Time when the API key expires, or null if the API key does not expire.
     */
    expiresAt: string | null;
    /**
     * Time when the API key or one of its tokens was last used, or null if no use was recorded. `lastUsedAt` may be up to a minute out of date.
     */
    lastUsedAt: string | null;
};

export type ApiKeyList = {
    apiKeys: Array<ApiKey>;
};

export type NewToken = {
    /**
     * Scopes of the token. The API key that creates the token must have all scopes of the token.
     */
    scopes: Array<'messages:send' | 'messages:read' | 'events:read'>;
    /**
     * Ids of the contacts whose messages, events and sends the token can access, and to whose phone numbers the token can send. By default, the token gives access to all contacts of the account.
     */
    contactIds?: Array<string> | null;
    /**
     * Time until the token expires, in seconds. If the API key that creates the token expires earlier, the token expires together with the API key. Default: `900`.
     */
    expiresInSeconds?: number | null;
};

export type CreatedToken = {
    /**
     * Id of the token. The token can be revoked by its id. The id of a token is not secret.
     */
    id: string;
    /**
     * The secret value of the token. Only this response shows the token; Tidings stores only a hash of the token.
     */
    token: string;
    /**
     * Time when the token expires.
     */
    expiresAt: string;
};

export type Caller = {
    /**
     * Account of the API key or token that made the request.
     */
    account: string;
    /**
     * Id of the API key that the caller used. If the caller used a token, id of the API key that created the token. The id is `environment` for the API key in the environment variable `API_KEY`.
     */
    keyId: string;
    /**
     * Name of the API key, or null if the API key was revoked during the request.
     */
    keyName: string | null;
    /**
     * Id of the token, or null for a caller with an API key or a session of the web console.
     */
    tokenId: string | null;
    /**
     * Scopes that the caller has.
     */
    scopes: Array<'messages:send' | 'messages:read' | 'webhooks:manage' | 'events:read' | 'admin'>;
    /**
     * True for an admin of the account `default`, who can manage all accounts and their API keys.
     */
    isOperator: boolean;
    /**
     * Ids of the contacts to which the token is restricted, or null for a caller without restriction.
     */
    contactIds: Array<string> | null;
    /**
     * Time when the API key or token expires, or null if it does not expire.
     */
    expiresAt: string | null;
};

export type AuditEntry = {
    /**
     * Id of the entry. An entry that is in the audit logs of two accounts has the same id in both.
     */
    id: string;
    /**
     * Time of the action.
     */
    at: string;
    /**
     * What was done: `account.created`, `account.changed`, `account.removed`, `account.deletions-confirmed`, `api-key.created`, `api-key.revoked`, `session.created`, `session.ended`, `token.created`, `token.revoked`, `webhook.created`, `webhook.changed`, `webhook.removed`, `webhook.secret-read`, `webhook.secret-rotated`, `webhook.replayed`, `send.cancelled`, `send.resolved`. Later versions of Tidings may add actions.
     */
    action: string;
    /**
     * Id of the account, API key, session, token, webhook or send that the action was about. Null if the entry has the field `subjects`.
     */
    subject: string | null;
    /**
     * Ids of the sends that `POST /v1/sends/resolve` resolved. Only audit log entries about `POST /v1/sends/resolve` have the field `subjects`.
     */
    subjects?: Array<string>;
    /**
     * Account of the caller who did the action.
     */
    account: string;
    /**
     * Id of the API key that the caller used. If the caller used a token or a session of the web console, id of the API key that the token or session belongs to.
     */
    keyId: string;
    /**
     * Id of the token of the caller. `tokenId` is absent if the caller used an API key or a session of the web console.
     */
    tokenId?: string;
    /**
     * The `X-Request-Id` of the request that this audit log entry is about.
     */
    requestId: string;
    /**
     * Names of the fields in the request body. The values of the fields are not recorded. Empty for actions that take no fields.
     */
    fields: Array<string>;
};

export type AuditEntryList = {
    /**
     * The entries of the page, newest first.
     */
    entries: Array<AuditEntry>;
    /**
     * Cursor of the next page, or null on the last page.
     */
    next: string | null;
};

export type ReadinessReason = {
    code: 'stopping' | 'redis_unwritable' | 'redis_not_persistent' | 'no_worker' | 'no_relay_worker' | 'no_poll_worker' | 'no_dispatch_worker' | 'upstream_down' | 'upstream_refused' | 'upstream_is_tidings' | 'contact_list_unreadable' | 'messages_unreadable' | 'contacts_vanished' | 'messages_vanished' | 'blob_store_unusable' | 'versions_mixed' | 'settings_mixed' | 'blob_store_not_shared' | 'clock_off';
    /**
     * Number of accounts, processes, versions or other objects that the fault concerns.
     */
    count: number;
    remedy: string;
};

export type AccountReason = {
    account: string;
    code: 'stopping' | 'redis_unwritable' | 'redis_not_persistent' | 'no_worker' | 'no_relay_worker' | 'no_poll_worker' | 'no_dispatch_worker' | 'upstream_down' | 'upstream_refused' | 'upstream_is_tidings' | 'contact_list_unreadable' | 'messages_unreadable' | 'contacts_vanished' | 'messages_vanished' | 'blob_store_unusable' | 'versions_mixed' | 'settings_mixed' | 'blob_store_not_shared' | 'clock_off';
    since: string;
    reason: string;
};

export type FullReadiness = {
    status: 'ok' | 'degraded' | 'unavailable';
    /**
     * One text for each fault of the installation: what is wrong, and the remedy. The texts in `reasons` say how many accounts are affected, but not which accounts. `GET /v1/status` shows the ids of the affected accounts.
     */
    reasons: Array<string>;
    /**
     * The faults in machine-readable form, in the order of `reasons`.
     */
    details: Array<ReadinessReason>;
    /**
     * Faults of individual accounts, at most 100. Every caller sees the faults of its own account. A caller with an API key of the account `default` that has the scope `admin` sees the faults of all accounts.
     */
    accounts: Array<AccountReason>;
};

export type UpstreamStatus = {
    state: 'up' | 'down';
    since: string | null;
    reason: string | null;
};

export type LaneCounts = {
    /**
     * Number of recipients with sends that have the status `queued` or `relaying`.
     */
    count: number;
    /**
     * Number of recipients with sends that are due to be processed now.
     */
    due: number;
    /**
     * Number of waiting sends of the recipient with the most waiting sends.
     */
    deepest: number;
};

export type SendsStatus = {
    /**
     * Number of stored sends by status.
     */
    counts: {
        scheduled?: number;
        queued?: number;
        relaying?: number;
        accepted?: number;
        sent?: number;
        delivered?: number;
        read?: number;
        unknown?: number;
        failed?: number;
        cancelled?: number;
        expired?: number;
    };
    lanes: LaneCounts;
    /**
     * Time since the longest-waiting send became `queued`, in milliseconds, while it is `queued` or `relaying`. 0 if no send waits.
     */
    oldestQueuedMs: number;
};

export type ContactListFault = {
    reason: string;
    since: string;
};

export type VolatileField = {
    /**
     * Kind of object that has the volatile field: a message or a contact.
     */
    of: 'message' | 'contact';
    field: string;
    /**
     * Number of contacts for which changes of the field emit no events.
     */
    contacts: number;
};

export type OlderMessageReads = {
    /**
     * Number of contacts that are due for a deep read, which reads older messages.
     */
    waiting: number;
    /**
     * How long the most overdue contact has been due for a deep read, in milliseconds.
     */
    lagMs: number;
};

export type DetectionDelay = {
    /**
     * Median of the detection delay (the time from a message’s timestamp to its event), in milliseconds. The detection delay is corrected for the difference between the clocks of the messaging service and Tidings. Null if no detection delay was measured.
     */
    p50Ms: number | null;
    /**
     * 95th percentile of the detection delay (the time from a message’s timestamp to its event), in milliseconds. Null if no detection delay was measured. The error of `p50Ms` and `p95Ms` is at most 7.3 %.
     */
    p95Ms: number | null;
    /**
     * Number of messages from which the detection delay was computed.
     */
    count: number;
    /**
     * Number of the messages of `count` whose detection delay was estimated from the time between two reads of their contact, because it could not be computed from a timestamp. For example, the timestamp is missing, or is more than a minute ahead of the clock of the messaging service.
     */
    estimated: number;
    /**
     * Number of late messages: messages that were more than 24 hours old when Tidings found them, such as imported messages. `p50Ms` and `p95Ms` do not include late messages.
     */
    late: number;
    /**
     * The detection delay is computed from the events of the last `ofLastSeconds` seconds.
     */
    ofLastSeconds: number;
};

export type BudgetStatus = {
    /**
     * Maximum request rate of the account at the messaging service, as configured. Unit: requests per second.
     */
    requestsPerSecond: number;
    /**
     * Current maximum rate of requests to the messaging service. The current maximum rate is lower than the configured maximum for some time after a 429 response, and always if the configured maximum is below 1.25. Unit: requests per second.
     */
    allowedPerSecond: number;
    /**
     * Recent average rate of requests to the messaging service. Unit: requests per second.
     */
    usedPerSecond: number;
    /**
     * Request rate available for the first request of each poll: the part of `allowedPerSecond` that other requests do not use, but at least a fifth of `allowedPerSecond`. Unit: requests per second.
     */
    forPollsPerSecond: number;
};

export type DelayForecast = {
    /**
     * Request budget that the forecast of the detection delay assumes. Unit: requests per second.
     */
    requestsPerSecond: number;
    /**
     * Expected median detection delay with the request budget `requestsPerSecond`, in milliseconds. Null if there are no contacts, or if no worker has polled yet.
     */
    p50Ms: number | null;
    /**
     * Expected 95th percentile of the detection delay with the request budget `requestsPerSecond`, in milliseconds. Null if there are no contacts, or if no worker has polled yet.
     */
    p95Ms: number | null;
};

export type PollerStatus = {
    /**
     * `suspect`: the messaging service returns far fewer contacts or messages than before. While the state is `suspect`, Tidings emits no events for deleted contacts or messages.
     */
    state: 'ok' | 'suspect';
    /**
     * Time since which `state` has been `suspect`. Null if `state` is `ok`.
     */
    suspectSince: string | null;
    /**
     * Number of contacts that Tidings polls.
     */
    contacts: number;
    /**
     * Number of contacts that are due to be polled now.
     */
    due: number;
    /**
     * Time since the most overdue contact became due for a poll, in milliseconds.
     */
    lagMs: number;
    /**
     * Minimum time to read every contact once within the limit of requests per second, with one request per contact, in milliseconds. Tidings sweeps all contacts (reads all their messages again) every `POLL_SWEEP_INTERVAL_MS`. A sweep takes at least `sweepMs`, so set `POLL_SWEEP_INTERVAL_MS` to a much longer interval.
     */
    sweepMs: number;
    /**
     * Time of the last complete read of the contact list that did not look like an outage, according to the clock of the messaging service. While an outage is suspected, the time does not change.
     */
    listedAt: string | null;
    /**
     * Reason and start of the problem if the contact list cannot be read, else null.
     */
    listFault: ContactListFault | null;
    /**
     * Number of messages that could not be parsed or that were skipped. A message is not counted again when it is read again. At most about 20 messages of a contact are counted, and several skipped messages of a contact may count once.
     */
    unreadable: number;
    /**
     * Number of messages that were skipped, because the messaging service returns an error for every page that contains them, or because they are too large. Of one contact, all messages with such an error count as one, and so do all messages that are too large.
     */
    skipped: number;
    /**
     * Number of elements of the last contact list that could not be read as contacts. If such a contact is new, it is not polled; if it is known, changes of its fields emit no events.
     */
    unreadableContacts: number;
    /**
     * Volatile fields: fields of messages or contacts that change at nearly every read. The list contains at most 20 fields. Tidings emits no events for changes of a volatile field until the field stops changing at nearly every read.
     */
    volatileFields: Array<VolatileField>;
    deep: OlderMessageReads;
    /**
     * Detection delay: time from a message’s timestamp to its event.
     */
    detectionDelay: DetectionDelay;
    /**
     * Maximum and current rate of requests to the messaging service.
     */
    budget: BudgetStatus;
    /**
     * Expected detection delay with half of the configured request budget, with the whole request budget, and with twice the request budget. The forecast of the detection delay assumes that contacts stay as active as now. The forecast of the detection delay does not include the response time of the messaging service.
     */
    forecast: Array<DelayForecast>;
    /**
     * Value of `POLL_MIN_INTERVAL_MS` at the workers. Null if no worker has polled yet.
     */
    minIntervalMs: number | null;
    /**
     * Value of `POLL_MAX_INTERVAL_MS` at the workers. Null if no worker has polled yet.
     */
    maxIntervalMs: number | null;
    /**
     * Longest expected interval between two reads of a contact, in milliseconds. If `longestIntervalMs` exceeds `POLL_MAX_INTERVAL_MS`, the request budget is too small. Null if there are no contacts, or if no worker has polled yet.
     */
    longestIntervalMs: number | null;
};

export type ConversationsStatus = {
    /**
     * Number of contacts in the list of conversations.
     */
    rows: number;
    /**
     * Number of known contacts. The number may exceed `rows`: a contact that was stored while `CONVERSATIONS` was `off`, or by a version of Tidings without conversations, is missing from the list of conversations until Tidings has polled the contact.
     */
    contacts: number;
};

export type DeliveryCounts = {
    pending: number;
    succeeded: number;
    /**
     * Number of deliveries with the status `failed` or `missed`.
     */
    failed: number;
};

export type WebhookCounts = {
    count: number;
    disabled: number;
    /**
     * Number of disabled webhooks that Tidings disabled, because their deliveries failed for too long or because the receiver answered 410.
     */
    disabledByFailure: number;
    /**
     * Number of webhooks with a delivery that is due.
     */
    due: number;
};

export type FailingWebhook = {
    webhookId: string;
    /**
     * Time of the first failed attempt to deliver to the webhook after the last successful delivery.
     */
    since: string;
};

export type DeliveriesStatus = {
    /**
     * Number of stored deliveries by status. The count `failed` includes missed deliveries.
     */
    counts: DeliveryCounts;
    /**
     * Numbers of webhooks: all webhooks, disabled webhooks, webhooks that Tidings disabled, and webhooks with a delivery that is due.
     */
    endpoints: WebhookCounts;
    /**
     * At most 20 enabled webhooks whose last attempt failed; the webhook that has failed longest comes first.
     */
    failing: Array<FailingWebhook>;
    /**
     * Time since the most overdue delivery became due for an attempt, in milliseconds. Time in which its webhook was paused or had reached its rate limit does not count. 0 if no delivery is due.
     */
    oldestDueMs: number;
    /**
     * Age of the oldest event that waits in the event log because a webhook has too many pending deliveries, in milliseconds. 0 if no event waits. Before the event log deletes the event, the webhook must catch up.
     */
    oldestWaitingMs: number;
    /**
     * Age of the oldest event for which no deliveries have been created yet, in milliseconds. 0 if there is no such event.
     */
    dispatchLagMs: number;
};

export type Status = {
    account: string;
    /**
     * Time when Tidings created the event log of the account. If Redis lost its data, the time when Tidings created the log again. Null if there is no event log yet.
     */
    installedAt: string | null;
    /**
     * Readiness as in `GET /health/ready`. Contains the faults of those accounts that the API key may see.
     */
    readiness: FullReadiness;
    upstream: UpstreamStatus;
    sends: SendsStatus;
    poller: PollerStatus;
    conversations: ConversationsStatus;
    deliveries: DeliveriesStatus;
};

export type SendStats = {
    /**
     * Number of sends that callers created in each minute.
     */
    created: Array<number>;
    /**
     * Number of sends that reached the status `accepted` in each minute.
     */
    accepted: Array<number>;
    /**
     * Number of sends that reached the status `sent` in each minute.
     */
    sent: Array<number>;
    /**
     * Number of sends that reached the status `failed` in each minute.
     */
    failed: Array<number>;
    /**
     * Number of sends that reached the status `unknown` in each minute.
     */
    unknown: Array<number>;
    /**
     * Number of sends that reached the status `expired` in each minute.
     */
    expired: Array<number>;
};

export type EventStats = {
    /**
     * Number of events that were recorded in each minute.
     */
    total: Array<number>;
    /**
     * Number of events of the type `message.received` that were recorded in each minute.
     */
    received: Array<number>;
};

export type DeliveryStats = {
    /**
     * Number of deliveries that succeeded in each minute.
     */
    succeeded: Array<number>;
    /**
     * Number of delivery attempts that failed in each minute, whether or not another attempt follows.
     */
    failedAttempts: Array<number>;
    /**
     * Number of deliveries in each minute that ended as `failed` directly after a failed attempt. Deliveries that ended while they waited for an attempt, for example because their webhook was disabled or removed, are not counted.
     */
    failed: Array<number>;
};

export type DelayStats = {
    /**
     * Mean delay in each minute, in milliseconds: the detection delay in `detectionDelayMs`, the delivery delay in `deliveryDelayMs`.
     */
    mean: Array<number | null>;
    /**
     * Longest delay in each minute, in milliseconds: the detection delay in `detectionDelayMs`, the delivery delay in `deliveryDelayMs`.
     */
    max: Array<number | null>;
};

export type RequestStats = {
    /**
     * Number of requests to the messaging service that ended in each minute.
     */
    used: Array<number>;
    /**
     * Number of requests to the messaging service that got a 429 response in each minute.
     */
    throttled: Array<number>;
    /**
     * Number of requests to the messaging service that failed in each minute for a reason other than 429.
     */
    failed: Array<number>;
    /**
     * Maximum number of requests per minute to the messaging service, as configured.
     */
    budgetPerMinute: number;
};

export type BacklogStats = {
    /**
     * Largest number of sends with the status `queued` or `relaying` that was measured in each minute. The last value is the current number. Null for a minute without a measurement.
     */
    sends: Array<number | null>;
    /**
     * Largest number of pending deliveries that was measured in each minute. The last value is the current number. Null for a minute without a measurement.
     */
    deliveries: Array<number | null>;
};

export type Stats = {
    /**
     * Id of the account.
     */
    account: string;
    /**
     * Start of the period that the statistics cover.
     */
    from: string;
    /**
     * End of the period that the statistics cover: the time of the response.
     */
    to: string;
    /**
     * Length of the period that each value covers, in seconds.
     */
    stepSeconds: number;
    /**
     * Start of each minute, oldest first. The last entry is the current minute, which is incomplete.
     */
    minutes: Array<string>;
    sends: SendStats;
    events: EventStats;
    deliveries: DeliveryStats;
    /**
     * Detection delays of new messages, by the minute in which the event of the message was recorded.
     */
    detectionDelayMs: DelayStats;
    /**
     * Delivery delays: times from an event to its receipt by a webhook, by the minute of the receipt. The delivery delay of a replayed event is measured from the time when the event was recorded, not from the time of the replay.
     */
    deliveryDelayMs: DelayStats;
    requests: RequestStats;
    /**
     * Numbers of waiting sends and deliveries, measured about once a minute while the account is in use.
     */
    backlog: BacklogStats;
};

export type Liveness = {
    status: 'ok';
};

export type Readiness = {
    status: 'ok' | 'degraded' | 'unavailable';
    /**
     * One text for each fault of the installation: what is wrong, and the remedy. The texts in `reasons` say how many accounts are affected, but not which accounts. `GET /v1/status` shows the ids of the affected accounts.
     */
    reasons: Array<string>;
    /**
     * The faults in machine-readable form, in the order of `reasons`.
     */
    details: Array<ReadinessReason>;
};

export type FieldError = {
    field: string;
    message: string;
};

export type Problem = {
    type: string;
    title: string;
    status: number;
    detail: string;
    instance: string;
    code: 'unauthenticated' | 'forbidden' | 'validation_failed' | 'malformed_body' | 'not_found' | 'method_not_allowed' | 'conflict' | 'cursor_expired' | 'idempotency_in_progress' | 'payload_too_large' | 'unsupported_media_type' | 'expectation_failed' | 'idempotency_key_reused' | 'rate_limited' | 'internal' | 'upstream_error' | 'upstream_unavailable' | 'unavailable' | 'loop_detected' | 'upstream_timeout';
    requestId: string;
    errors?: Array<FieldError>;
};

/**
 * A text or a file to send. An undocumented field whose value is a text, number or boolean is passed on to the messaging service as a form field. An undocumented field with the value null is ignored. A token that is restricted to contacts cannot use undocumented fields.
 */
export type NewSend = {
    /**
     * Phone number of the recipient in E.164 form.
     */
    phoneNumber: string;
    /**
     * Type of the message: text, audio, or any other message type that the messaging service supports. Default: `text`.
     */
    type?: string | null;
    /**
     * Text of the message. The text is required unless the request has a file or a fileUrl.
     */
    message?: string | null;
    /**
     * URL of a file to send.
     */
    fileUrl?: string | null;
    /**
     * Your own id for the send. `GET /v1/sends?reference=` finds sends by this id.
     */
    reference?: string | null;
    /**
     * Your own data, stored with the send: an object of at most 2 KB of JSON. In a request with `multipart/form-data`, the value of `metadata` is JSON text.
     */
    metadata?: {
        [key: string]: unknown;
    } | null;
    /**
     * Earliest time to send the message.
     */
    sendAt?: string | null;
    /**
     * Latest time to send the message. A send that is not relayed by `expiresAt` expires.
     */
    expiresAt?: string | null;
    [key: string]: unknown;
};

/**
 * A text or a file to send. An undocumented field whose value is a text, number or boolean is passed on to the messaging service as a form field. An undocumented field with the value null is ignored. A token that is restricted to contacts cannot use undocumented fields.
 */
export type NewSendForm = {
    /**
     * Phone number of the recipient in E.164 form.
     */
    phoneNumber: string;
    /**
     * Type of the message: text, audio, or any other message type that the messaging service supports. Default: `text`.
     */
    type?: string;
    /**
     * Text of the message. The text is required unless the request has a file or a fileUrl.
     */
    message?: string;
    /**
     * URL of a file to send.
     */
    fileUrl?: string;
    /**
     * Your own id for the send. `GET /v1/sends?reference=` finds sends by this id.
     */
    reference?: string;
    /**
     * Your own data, stored with the send: an object of at most 2 KB of JSON. In a request with `multipart/form-data`, the value of `metadata` is JSON text.
     */
    metadata?: {
        [key: string]: unknown;
    };
    /**
     * Earliest time to send the message.
     */
    sendAt?: string;
    /**
     * Latest time to send the message. A send that is not relayed by `expiresAt` expires.
     */
    expiresAt?: string;
    /**
     * File to send with the message.
     */
    file?: Blob | File;
    [key: string]: unknown;
};

/**
 * A message as the messaging service returns it. In an event about a deleted message, the message has the last known values of its fields, if Tidings still stores them. A field without a value may be absent or null.
 */
export type Message = {
    /**
     * Id that the messaging service gave to the message or contact.
     */
    id: string | number;
    /**
     * Sender: a phone number in E.164 form, or a mail address.
     */
    from?: string | null;
    /**
     * Recipient: a phone number in E.164 form, or a mail address.
     */
    to?: string | null;
    /**
     * `inbound`, `outbound`, or another value that the messaging service uses.
     */
    direction?: string | null;
    /**
     * Text of the message.
     */
    message?: string | null;
    /**
     * When the message was sent, normally as an ISO 8601 time in UTC. Passed on unchanged.
     */
    timestamp?: string | null;
    attachments?: Array<{
        [key: string]: unknown;
    }> | null;
    /**
     * Transport of the message, for example `iMessage`.
     */
    service?: string | null;
    status?: {
        read?: boolean | null;
        delivered?: boolean | null;
        [key: string]: unknown;
    } | null;
    [key: string]: unknown;
};

/**
 * A contact as the messaging service returns it. The only field of a contact that the messaging service documents is `id`.
 */
export type Contact = {
    /**
     * Id that the messaging service gave to the message or contact.
     */
    id: string | number;
    [key: string]: unknown;
};

/**
 * An object with `contacts` and any other fields that the messaging service returns. An element without an id, such as null, is passed on unchanged too.
 */
export type ContactList = {
    contacts: Array<Contact>;
    [key: string]: unknown;
};

/**
 * An object with `messages` and any other fields that the messaging service returns. An element without an id, such as null, is passed on unchanged too.
 */
export type MessageList = {
    messages: Array<Message>;
    [key: string]: unknown;
};

/**
 * The changed fields, each with its old value `from` and its new value `to`. `from` is absent if a contact did not have the field before, and for all fields of a message except `status.delivered`, `status.read` and `deleted`, because Tidings does not store their values. If a field was removed, `to` is null in `message.*` events and absent in `contact.*` events.
 */
export type Changes = {
    [key: string]: {
        from?: unknown;
        to?: unknown;
    };
};

export type WebhookWithoutHeaders = {
    id: string;
    url: string;
    eventTypes: Array<string> | null;
    contactIds: Array<string> | null;
    description: string | null;
    maxConcurrency: number | null;
    rateLimitPerSecond: number | null;
    ordered: boolean;
    enabled: boolean;
    /**
     * Reason why Tidings disabled the webhook, or null if Tidings did not disable it.
     */
    disabledReason: string | null;
    createdAt: string;
    updatedAt: string;
};

/**
 * A contact sent a message.
 */
export type MessageReceivedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A contact sent a message.
     */
    type: 'message.received';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contactId: string;
        message: Message;
        sendId?: string;
        reference?: string;
        duplicate?: true;
    };
};

/**
 * A new outbound message appeared at the messaging service. If Tidings sent the message, `sendId` is the id of the send, and `reference` is your own id for the send.
 */
export type MessageSentEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A new outbound message appeared at the messaging service. If Tidings sent the message, `sendId` is the id of the send, and `reference` is your own id for the send.
     */
    type: 'message.sent';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contactId: string;
        message: Message;
        sendId?: string;
        reference?: string;
        duplicate?: true;
    };
};

/**
 * A message with an undocumented direction appeared.
 */
export type MessageCreatedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A message with an undocumented direction appeared.
     */
    type: 'message.created';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contactId: string;
        message: Message;
        sendId?: string;
        reference?: string;
        duplicate?: true;
    };
};

/**
 * A message was delivered. The event is emitted at most once per message.
 */
export type MessageDeliveredEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A message was delivered. The event is emitted at most once per message.
     */
    type: 'message.delivered';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contactId: string;
        message: Message;
        changes: Changes;
        sendId?: string;
        reference?: string;
        duplicate?: true;
    };
};

/**
 * A message was read. The event is emitted at most once per message.
 */
export type MessageReadEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A message was read. The event is emitted at most once per message.
     */
    type: 'message.read';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contactId: string;
        message: Message;
        changes: Changes;
        sendId?: string;
        reference?: string;
        duplicate?: true;
    };
};

/**
 * A field of a message changed, or a message that was reported as deleted appeared again. `changes` has the changed fields with their new values and, if they are known, their old values.
 */
export type MessageUpdatedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A field of a message changed, or a message that was reported as deleted appeared again. `changes` has the changed fields with their new values and, if they are known, their old values.
     */
    type: 'message.updated';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contactId: string;
        message: Message;
        changes: Changes;
        sendId?: string;
        reference?: string;
        duplicate?: true;
    };
};

/**
 * A message disappeared from the messaging service. Delete your copy of the message.
 */
export type MessageDeletedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A message disappeared from the messaging service. Delete your copy of the message.
     */
    type: 'message.deleted';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contactId: string;
        message: Message;
        changes: Changes;
        sendId?: string;
        reference?: string;
        duplicate?: true;
    };
};

/**
 * A contact appeared, or a deleted contact returned.
 */
export type ContactCreatedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A contact appeared, or a deleted contact returned.
     */
    type: 'contact.created';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contact: Contact;
        changes: Changes;
    };
};

/**
 * A field of a contact changed. `changes` has the changed fields with their old and new values, if they have any.
 */
export type ContactUpdatedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A field of a contact changed. `changes` has the changed fields with their old and new values, if they have any.
     */
    type: 'contact.updated';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contact: Contact;
        changes: Changes;
    };
};

/**
 * A contact disappeared from the messaging service. Delete your copy of the contact.
 */
export type ContactDeletedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A contact disappeared from the messaging service. Delete your copy of the contact.
     */
    type: 'contact.deleted';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contact: Contact;
        changes: Changes;
    };
};

/**
 * Tidings lost its stored data about a contact and has read the contact again. Events may be missing: read the messages of the contact.
 */
export type ContactResyncedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * Tidings lost its stored data about a contact and has read the contact again. Events may be missing: read the messages of the contact.
     */
    type: 'contact.resynced';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    contactId: string;
    /**
     * Consecutive number of the event among the events of its contact, starting at 1.
     */
    sequence: number;
    data: {
        contactId: string;
        reason: string;
    };
};

/**
 * The messaging service accepted the send.
 */
export type SendAcceptedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * The messaging service accepted the send.
     */
    type: 'send.accepted';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        send: Send;
    };
};

/**
 * The message of the accepted send was not found in time. Tidings may still find the message later.
 */
export type SendUnconfirmedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * The message of the accepted send was not found in time. Tidings may still find the message later.
     */
    type: 'send.unconfirmed';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        send: Send;
    };
};

/**
 * Tidings found the message that the messaging service created for the send. Later events of the message report when it was delivered and read.
 */
export type SendSentEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * Tidings found the message that the messaging service created for the send. Later events of the message report when it was delivered and read.
     */
    type: 'send.sent';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        send: Send;
    };
};

/**
 * The send failed and will not be retried. `send.reason` says why it failed.
 */
export type SendFailedEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * The send failed and will not be retried. `send.reason` says why it failed.
     */
    type: 'send.failed';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        send: Send;
    };
};

/**
 * Tidings cannot find out whether the message was sent, and does not send the message again. If you know whether the message was sent, set the outcome of the send; otherwise, you can resend the message.
 */
export type SendUnknownEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * Tidings cannot find out whether the message was sent, and does not send the message again. If you know whether the message was sent, set the outcome of the send; otherwise, you can resend the message.
     */
    type: 'send.unknown';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        send: Send;
    };
};

/**
 * The send was cancelled before it was relayed.
 */
export type SendCancelledEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * The send was cancelled before it was relayed.
     */
    type: 'send.cancelled';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        send: Send;
    };
};

/**
 * The send was not relayed before `expiresAt`, or before it reached its maximum age.
 */
export type SendExpiredEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * The send was not relayed before `expiresAt`, or before it reached its maximum age.
     */
    type: 'send.expired';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        send: Send;
    };
};

/**
 * The messaging service is unavailable or rejects the account. Tidings relays no sends of the account until it emits the event `upstream.recovered`.
 */
export type UpstreamUnavailableEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * The messaging service is unavailable or rejects the account. Tidings relays no sends of the account until it emits the event `upstream.recovered`.
     */
    type: 'upstream.unavailable';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        since: string;
        reason: string;
    };
};

/**
 * The messaging service is available again. Sends that waited for the messaging service are now relayed.
 */
export type UpstreamRecoveredEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * The messaging service is available again. Sends that waited for the messaging service are now relayed.
     */
    type: 'upstream.recovered';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        since: string;
        reason: string;
    };
};

/**
 * Many contacts or messages disappeared at once, so Tidings does not report them as deleted. If the contacts or messages were really deleted, call `POST /v1/accounts/{id}/confirm-deletions`.
 */
export type AccountSuspectEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * Many contacts or messages disappeared at once, so Tidings does not report them as deleted. If the contacts or messages were really deleted, call `POST /v1/accounts/{id}/confirm-deletions`.
     */
    type: 'account.suspect';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        reason: string;
        count: number;
        contactId?: string;
    };
};

/**
 * Tidings disabled a webhook. Repair the receiver, enable the webhook, and replay missed events.
 */
export type WebhookDisabledEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * Tidings disabled a webhook. Repair the receiver, enable the webhook, and replay missed events.
     */
    type: 'webhook.disabled';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        webhook: WebhookWithoutHeaders;
        reason: string;
    };
};

/**
 * A test event that a caller requested for one webhook. Only this webhook gets the test event.
 */
export type WebhookTestEvent = {
    /**
     * Unique id of the event. Subscribers use this id to ignore duplicates.
     */
    id: string;
    /**
     * A test event that a caller requested for one webhook. Only this webhook gets the test event.
     */
    type: 'webhook.test';
    /**
     * Time when the event was recorded.
     */
    timestamp: string;
    account: string;
    /**
     * Consecutive number of the event among the events of its account, starting at 1.
     */
    sequence: number;
    data: {
        webhookId: string;
    };
};
