import type { Contacts } from './contacts.js';
import type { WorldContext } from './context.js';
import { upstreamNow } from './context.js';
import type { Messages } from './messages.js';

/** A message of a demo conversation. */
interface Line {
  readonly hoursAgo: number;
  readonly direction: 'inbound' | 'outbound';
  readonly text: string;
  readonly read: boolean;
}

const CONVERSATIONS: readonly { name: string; phoneNumber: string; lines: readonly Line[] }[] = [
  {
    name: 'Ada Lovelace',
    phoneNumber: '+15550100001',
    lines: [
      { hoursAgo: 50, direction: 'outbound', text: 'Hello Ada, your order 4711 is on its way.', read: true },
      { hoursAgo: 49, direction: 'inbound', text: 'Wonderful! When will it be here?', read: true },
      { hoursAgo: 48.9, direction: 'outbound', text: 'Tomorrow between 9 and 12.', read: true },
      { hoursAgo: 25, direction: 'inbound', text: 'It has just arrived, thank you 😀', read: true },
    ],
  },
  {
    name: 'Grace Hopper',
    phoneNumber: '+15550100002',
    lines: [
      { hoursAgo: 30, direction: 'inbound', text: 'Can I move my appointment to Friday?', read: true },
      { hoursAgo: 29, direction: 'outbound', text: 'Of course. Friday at 10:30?', read: true },
      { hoursAgo: 28, direction: 'inbound', text: 'Perfect.', read: true },
    ],
  },
  {
    name: 'Alan Turing',
    phoneNumber: '+15550100003',
    lines: [
      { hoursAgo: 75, direction: 'outbound', text: 'Your sign-in code is 271828.', read: false },
      { hoursAgo: 74, direction: 'inbound', text: 'That one worked, thanks', read: true },
    ],
  },
];

/** Fills an empty world with demo contacts and messages of the last days. */
export function demoContacts(context: WorldContext, contacts: Contacts, messages: Messages): void {
  const now = upstreamNow(context);
  for (const { name, phoneNumber, lines } of CONVERSATIONS) {
    if (contacts.byNumber(phoneNumber) !== undefined) continue;
    const contact = contacts.create({ name, phoneNumber });
    for (const { hoursAgo, direction, text, read } of lines) {
      const timestamp = Math.round(now - hoursAgo * 3_600_000);
      messages.create({ contact, direction, origin: 'demo', text, timestamp, delivered: true, read });
    }
  }
}
