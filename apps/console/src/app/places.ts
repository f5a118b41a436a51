import type { Api } from '../api/api.js';
import { to } from '../kit/address.js';

/** A page in the navigation. */
export interface Place {
  title: string;
  href: string;
  /** Key that opens the page after `g`. */
  key: string;
  /** Returns true if the API key may see at least a part of the page. */
  isFor: (api: Api) => boolean;
}

/** The pages in the navigation, in its order. Pages that the API key may not see are left out. */
export const PLACES: readonly Place[] = [
  { title: 'Overview', href: to(), key: 'o', isFor: () => true },
  { title: 'Conversations', href: to('conversations'), key: 'c', isFor: (api) => api.may('messages:read') },
  { title: 'Sends', href: to('sends'), key: 's', isFor: (api) => api.may('messages:read') },
  { title: 'Events', href: to('events'), key: 'e', isFor: (api) => api.may('events:read') },
  { title: 'Webhooks', href: to('webhooks'), key: 'w', isFor: (api) => api.may('webhooks:manage') },
  { title: 'Accounts', href: to('accounts'), key: 'a', isFor: (api) => api.may('admin') },
  { title: 'API keys', href: to('api-keys'), key: 'k', isFor: (api) => api.may('admin') },
  { title: 'Audit log', href: to('audit'), key: 'l', isFor: (api) => api.may('admin') },
  { title: 'Queues', href: to('queues'), key: 'q', isFor: (api) => api.signIn.caller.isOperator },
];
