import type { NewEvent } from '#events';
import type { ContactListPoller, ContactPoller, FeedSource, FeedStore, PollCommit } from '#feed';
import { interceptMethodCalls, logMessageOf, type TraceContext } from '#platform';
import { type Attributes, isSampled, type TraceSpan, type Tracing } from './tracing.js';

/** Name of the span of a poll of a contact's newest messages. */
const POLL = 'poll contact';

interface RunningPoll {
  span: TraceSpan;
  /** When the poll began, by `performance.now()`. */
  begunAt: number;
}

/** Traces polls, the pages that the polls read, and the events that the polls commit to the event log. */
export class FeedTracer {
  /** The spans of the polls that are running, by account and contact. */
  private readonly polls = new Map<string, RunningPoll>();

  constructor(private readonly tracing: Tracing) {}

  /**
   * Returns a {@link ContactPoller} that works like the given one and begins a new trace for each read of a contact's
   * messages.
   */
  interceptContacts(contacts: ContactPoller): ContactPoller {
    return interceptMethodCalls(contacts, {
      poll: (proceed, account, contactId, ...rest) =>
        this.poll(POLL, account, contactId, () => proceed(account, contactId, ...rest)),
      pollHead: (proceed, account, contactId, ...rest) =>
        this.poll(POLL, account, contactId, () => proceed(account, contactId, ...rest)),
      pollNewMessages: (proceed, account, contactId, ...rest) =>
        this.poll(POLL, account, contactId, () => proceed(account, contactId, ...rest)),
      runDeepRead: (proceed, account, contactId, ...rest) =>
        this.poll('poll older messages', account, contactId, () => proceed(account, contactId, ...rest)),
    });
  }

  /**
   * Returns a {@link ContactListPoller} that works like the given one and begins a new trace for each read of the
   * contact list.
   */
  interceptContactList(list: ContactListPoller): ContactListPoller {
    return interceptMethodCalls(list, {
      poll: (proceed, account, ...rest) =>
        this.poll('poll contact list', account, undefined, () => proceed(account, ...rest)),
    });
  }

  /** Returns a source that works like the given one and records each page that a poll reads as a span of the poll. */
  interceptSource(source: FeedSource): FeedSource {
    return interceptMethodCalls(source, {
      listMessages: (proceed, account, contactId, page, ...rest) => {
        const parent = this.polls.get(keyOf(account, contactId))?.span.context;
        const span = this.tracing.start('read messages', {
          kind: 'client',
          parent,
          attributes: () => ({ 'tidings.account': account, 'tidings.page': page }),
        });
        return endingWith(span, () => proceed(account, contactId, page, ...rest));
      },
    });
  }

  /**
   * Returns a store that works like the given one. Each event that a poll of a contact commits gets a span. Events of
   * a poll of the contact list get the trace context of this poll, if the poll is recorded. Events carry their trace
   * context to their deliveries.
   */
  interceptStore<T extends FeedStore>(store: T): T {
    return interceptMethodCalls<FeedStore>(store, {
      commitPoll: async (proceed, account, contactId, commit) => {
        if (commit.events.length === 0) return proceed(account, contactId, commit);
        const { events, spans } = this.traced(account, contactId, commit.events);
        const committed = await proceed(account, contactId, { ...commit, events });
        // The spans of events that were not committed are never ended, so they are not exported.
        if (committed !== undefined) for (const span of spans) span.end();
        return committed;
      },
      commitContacts: (proceed, account, { updates, ...commit }) => {
        const poll = this.polls.get(keyOf(account))?.span.context;
        return proceed(account, {
          ...commit,
          updates: poll !== undefined && isSampled(poll) ? withTrace(updates, poll) : updates,
        });
      },
    }) as T;
  }

  /**
   * Begins a span for each event. If an event's message belongs to a send, the event's span continues the send's trace.
   * The send's trace then also gets a span for the poll, with a link to the poll's own trace.
   */
  private traced(
    account: string,
    contactId: string,
    events: PollCommit['events'],
  ): { events: PollCommit['events']; spans: TraceSpan[] } {
    const poll = this.polls.get(keyOf(account, contactId));
    const attributes = (): Attributes => attributesOf(account, contactId);
    const spans = new Map<TraceContext, TraceSpan>();
    const parentOf = (send: TraceContext | undefined): TraceContext | undefined => {
      if (send === undefined) return poll?.span.context;
      const span =
        spans.get(send) ??
        this.tracing.start(POLL, {
          parent: send,
          link: poll?.span.context,
          attributes,
          startedMsAgo: poll === undefined ? 0 : performance.now() - poll.begunAt,
        });
      spans.set(send, span);
      return span.context;
    };
    const ofEvents = events.map(({ type, trace }) =>
      this.tracing.start(`event ${type}`, { kind: 'producer', parent: parentOf(trace), attributes }),
    );
    return {
      events: events.map((event, i) => withSpan(event, ofEvents[i])),
      spans: [...ofEvents, ...spans.values()],
    };
  }

  private async poll<T>(
    name: string,
    account: string,
    contactId: string | undefined,
    proceed: () => Promise<T>,
  ): Promise<T> {
    const span = this.tracing.start(name, { attributes: () => attributesOf(account, contactId) });
    const key = keyOf(account, contactId);
    this.polls.set(key, { span, begunAt: performance.now() });
    try {
      return await endingWith(span, proceed);
    } finally {
      // Another poll of the same contact may have begun in the meantime and stored its own span.
      if (this.polls.get(key)?.span === span) this.polls.delete(key);
    }
  }
}

function attributesOf(account: string, contactId: string | undefined): Attributes {
  return {
    'tidings.account': account,
    ...(contactId === undefined ? {} : { 'tidings.contact_id': contactId }),
  };
}

/**
 * Returns the event with the trace context of its span. The deliveries of the event continue this trace. If the
 * event belongs to a send with a trace, the event gets the context even if its span is not recorded, because the
 * caller may have begun the send's trace. Any other event gets the context only if its span is recorded.
 */
function withSpan(event: NewEvent, span: TraceSpan | undefined): NewEvent {
  if (span === undefined || (event.trace === undefined && !isSampled(span.context))) return event;
  return { ...event, trace: span.context };
}

function keyOf(account: string, contactId = ''): string {
  return `${account}\n${contactId}`;
}

/** Makes a call, and ends the span with the outcome of the call. */
async function endingWith<T>(span: TraceSpan, proceed: () => Promise<T>): Promise<T> {
  try {
    const result = await proceed();
    span.end();
    return result;
  } catch (error) {
    span.end(() => ({ error: logMessageOf(error) }));
    throw error;
  }
}

type Updates = Parameters<FeedStore['commitContacts']>[1]['updates'];

async function* withTrace(updates: Updates, trace: TraceContext): AsyncIterable<ContactUpdateOf<Updates>> {
  for await (const update of updates)
    yield update.event === undefined ? update : { ...update, event: { ...update.event, trace } };
}

type ContactUpdateOf<T> = T extends AsyncIterable<infer Update> ? Update : never;
