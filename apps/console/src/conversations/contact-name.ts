import type { Conversation } from '#client';

/** Phone numbers in E.164 form. */
const E164 = /^\+[1-9]\d{6,14}$/;

/** Returns the title of a conversation: the name of the contact, or else a phone number, or else the id. */
export function nameOf({ contact, phoneNumbers, id }: Conversation): string {
  const name = contact?.['name'];
  return typeof name === 'string' && name.trim() !== '' ? name : (phoneNumbers[0] ?? id);
}

/** Returns the phone number that a text such as `+1 (415) 555-0100` contains, or undefined for any other text. */
export function phoneNumberOf(text: string): string | undefined {
  const number = text.replaceAll(/[\s().-]/g, '');
  return E164.test(number) ? number : undefined;
}

/** Returns the conversation of a phone number to which nothing was sent yet. */
export function newConversation(phoneNumber: string): Conversation {
  return {
    id: phoneNumber,
    contactId: null,
    replaces: null,
    phoneNumbers: [phoneNumber],
    contact: null,
    preview: null,
    lastDirection: null,
    lastActivityAt: null,
    unreadCount: 0,
    waitingSince: null,
    pendingSends: 0,
    failedSends: 0,
    revision: 0,
  };
}
