import type { Conversation } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { Button } from '../kit/button.js';
import { Failure, Loading } from '../kit/page.js';
import { Composer } from './composer.js';
import { nameOf } from './contact-name.js';
import { ContactDetails } from './contact-details.js';
import type { Draft } from './draft.js';
import { TimelineList } from './timeline-list.js';
import { useTimeline } from './use-timeline.js';

/** One conversation: its messages and sends, and a box to answer. */
export function ConversationView(props: {
  conversation: Conversation;
  /** Address of the list. */
  back: string;
  draft: Draft;
  onDraft: (draft: Draft) => void;
}): JSX.Element {
  const { conversation, back, draft, onDraft } = props;
  const api = useApi();
  const timeline = useTimeline(conversation);
  const [hasDetails, setDetails] = useState(false);
  const name = nameOf(conversation);
  const numbers = conversation.phoneNumbers.join(', ');
  const { state, error } = timeline;
  return (
    <section class="conversation" aria-label={`Conversation with ${name}`}>
      <header class="conversation-head">
        <a class="back" href={back}>
          ← All conversations
        </a>
        <div class="who">
          <h2 dir="auto">{name}</h2>
          {numbers !== name && <span class="quiet wrap">{numbers}</span>}
        </div>
        <Button
          isPressed={hasDetails}
          onClick={() => {
            setDetails(!hasDetails);
          }}
        >
          Details
        </Button>
      </header>
      {hasDetails && <ContactDetails conversation={conversation} />}
      {state.isPartial && (
        <div class="notice warn" role="status">
          <strong>The messages cannot be read at the moment.</strong>
          <p>Only what Tidings has stored is shown. The page tries again every few seconds.</p>
        </div>
      )}
      {error !== undefined && <Failure error={error} retry={timeline.refresh} />}
      {!state.isRead && error === undefined && conversation.lastActivityAt !== null ? (
        <Loading />
      ) : (
        <TimelineList conversation={conversation} timeline={timeline} />
      )}
      {api.may('messages:send') && conversation.phoneNumbers.length > 0 && (
        <Composer conversation={conversation} draft={draft} onDraft={onDraft} onSent={timeline.put} />
      )}
    </section>
  );
}
