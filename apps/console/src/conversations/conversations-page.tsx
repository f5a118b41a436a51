import type { JSX } from 'preact';
import { useLocation, useRoute } from 'preact-iso';
import { useEffect, useRef } from 'preact/hooks';
import { isNotFound, useApi } from '../api/api.js';
import { to, useParameters, withParameters } from '../kit/address.js';
import { Empty, Failure, Loading, Page } from '../kit/page.js';
import { classes } from '../kit/text.js';
import { useSnapshot } from '../kit/use-snapshot.js';
import { newConversation, phoneNumberOf } from './contact-name.js';
import { ConversationList } from './conversation-list.js';
import { ConversationView } from './conversation-view.js';
import { keptDrafts } from './kept-drafts.js';
import { type Conversations, useConversation, useConversations } from './use-conversations.js';

/** The list of conversations, and the messages and sends of one of them. */
export function ConversationsPage(): JSX.Element {
  const [{ q = '' }, setParameters] = useParameters();
  const id = useRoute().params['id'] ?? '';
  const conversations = useConversations(q);
  return (
    <Page title="Conversations" isFull>
      <div class={classes('conversations', id !== '' && 'open')}>
        <ConversationList
          conversations={conversations}
          q={q}
          openId={id}
          onSearch={(text) => {
            setParameters({ q: text });
          }}
        />
        <OpenConversation id={id} q={q} conversations={conversations} />
      </div>
    </Page>
  );
}

/** The conversation in the address. */
function OpenConversation(props: { id: string; q: string; conversations: Conversations }): JSX.Element {
  const { id, q, conversations } = props;
  const { route } = useLocation();
  const { conversation, read } = useConversation(id, conversations);
  const { signIn } = useApi();
  useSnapshot(keptDrafts);
  /**
   * The phone numbers under which conversations were opened before their contact was known, by the id of the contact.
   */
  const openedAs = useRef(new Map<string, string>());
  /**
   * Phone numbers without a conversation. While such a conversation is read again, its page stays, with the text that
   * the user is writing.
   */
  const unknown = useRef(new Set<string>());
  if (isNotFound(read.error)) unknown.current.add(id);
  const isReplaced = conversation !== undefined && conversation.id !== id && id !== '';
  // Set during the same rendering: with another key, the text field would be created again and lose the focus.
  if (isReplaced) openedAs.current.set(conversation.id, openedAs.current.get(id) ?? id);
  useEffect(() => {
    // The phone number has a contact now. The conversation of the contact has replaced that of the number.
    if (isReplaced) route(withParameters(to('conversations', conversation.id), { q }), true);
  }, [conversation?.id, id]);
  const list = withParameters(to('conversations'), { q });
  if (id === '')
    return (
      <div class="conversation none">
        <Empty title="No conversation is open.">
          <p>Choose a conversation in the list, or search for a phone number to write to it.</p>
        </Empty>
      </div>
    );
  const number = phoneNumberOf(id);
  const isNew = conversation === undefined && unknown.current.has(id) && number !== undefined;
  const shown = conversation ?? (isNew ? newConversation(number) : undefined);
  if (shown === undefined)
    return (
      <div class="conversation none">
        <a class="back" href={list}>
          ← All conversations
        </a>
        {read.error === null ? (
          <Loading />
        ) : isNotFound(read.error) ? (
          <Empty title="The account has no conversation with this id.">
            <p>Its contact may have been deleted.</p>
          </Empty>
        ) : (
          <Failure error={read.error} retry={read.refetch} />
        )}
      </div>
    );
  // A draft to a phone number belongs to its contact, whether the user opens the conversation by the number or by
  // the contact.
  for (const each of [id, ...shown.phoneNumbers])
    if (each !== shown.id) keptDrafts.move(signIn.id, each, shown.id);
  // The key is the same for a number and its contact, so that no part of the page is created again when the contact
  // appears.
  const key = openedAs.current.get(shown.id) ?? shown.id;
  return (
    <ConversationView
      key={key}
      conversation={shown}
      back={list}
      draft={keptDrafts.of(signIn.id, shown.id)}
      onDraft={(draft) => {
        keptDrafts.keep(signIn.id, shown.id, draft);
      }}
    />
  );
}
