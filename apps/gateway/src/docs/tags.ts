/** Groups of operations, in the order of the documentation page. */
export const TAGS = [
  { name: 'Messages', description: 'Send texts and files.' },
  {
    name: 'Sends',
    description:
      'List sends, get the status of a send, cancel a send, set the outcome of a send with the status `unknown`, or resend a send.',
  },
  { name: 'Contacts', description: 'Read contacts and their messages from the messaging service.' },
  {
    name: 'Conversations',
    description:
      'List and search conversations, show the messages and sends of a conversation in order, and mark messages as seen.',
  },
  { name: 'Events', description: 'Read events page by page, wait for events, or stream events.' },
  {
    name: 'Webhooks',
    description: 'Receive events at a URL, list and retry deliveries, and replay past events.',
  },
  { name: 'Accounts', description: 'Manage which accounts of the messaging service Tidings uses.' },
  { name: 'API keys', description: 'Manage the keys with which callers authenticate.' },
  { name: 'Tokens', description: 'Create and revoke short-lived tokens, with which browsers authenticate.' },
  { name: 'Caller', description: 'Get the account and the permissions of the API key or token in use.' },
  { name: 'Audit log', description: 'See who changed accounts, API keys, tokens, webhooks and sends.' },
  { name: 'Status', description: 'Get the status of the account and of the installation.' },
  {
    name: 'Health',
    description:
      'Health checks, for load balancers and orchestrators, and metrics. Health checks need no API key.',
  },
] as const;
