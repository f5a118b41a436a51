import type { Conversation } from '#client';
import type { JSX } from 'preact';
import { useApi } from '../api/api.js';
import { to, withParameters } from '../kit/address.js';
import { Id } from '../kit/copy.js';
import { Json } from '../kit/json.js';
import { Facts } from '../kit/table.js';
import { countText } from '../kit/text.js';
import { Time } from '../kit/time.js';

/** What is known about the contact of a conversation. */
export function ContactDetails({ conversation }: { conversation: Conversation }): JSX.Element {
  const api = useApi();
  const { contactId, contact, phoneNumbers, waitingSince, unreadCount, pendingSends, failedSends } =
    conversation;
  return (
    <aside class="contact-details" aria-label="Details of the contact">
      <Facts
        of={[
          ['Contact', contactId === null ? 'None yet' : <Id key="id" of={contactId} />],
          ['Phone numbers', phoneNumbers.join(', ')],
          [
            'Sends',
            phoneNumbers.map((phoneNumber) => (
              <a key={phoneNumber} href={withParameters(to('sends'), { phoneNumber })}>
                All sends to {phoneNumber}
              </a>
            )),
          ],
          [
            'Events',
            contactId !== null && api.may('events:read') ? (
              <a href={withParameters(to('events'), { contactId })}>All events of this contact</a>
            ) : undefined,
          ],
          ['First unanswered message', waitingSince === null ? undefined : <Time at={waitingSince} />],
          ['Unread', unreadCount === 0 ? undefined : countText(unreadCount, 'message', 'messages')],
          ['Pending', pendingSends === 0 ? undefined : countText(pendingSends, 'send', 'sends')],
          ['Failed', failedSends === 0 ? undefined : countText(failedSends, 'send', 'sends')],
        ]}
      />
      {contact !== null && (
        <>
          <h3>The contact as the messaging service shows it</h3>
          <Json value={contact} label="the contact" />
        </>
      )}
    </aside>
  );
}
