import type { Account } from '#client';
import type { Faults } from '../kit/rejection.js';

/** An account as a form edits it: texts as the user types them. */
export interface AccountDraft {
  id: string;
  baseUrl: string;
  /** API key at the messaging service. Empty to keep the present one, which the API never shows. */
  apiKey: string;
  requestsPerSecond: string;
  polling: boolean;
}

/** Settings of an account for the API. An absent setting stays unchanged; in a new account, it gets its default. */
export interface AccountChanges {
  baseUrl?: string;
  apiKey?: string;
  requestsPerSecond?: number;
  polling?: boolean;
}

const EMPTY: AccountDraft = { id: '', baseUrl: '', apiKey: '', requestsPerSecond: '', polling: true };

/** Returns the values of the form for an account, or for a new one. */
export function draftOf(account?: Account): AccountDraft {
  if (account === undefined) return EMPTY;
  const { id, baseUrl, requestsPerSecond, polling } = account;
  return { id, baseUrl, apiKey: '', requestsPerSecond: String(requestsPerSecond), polling };
}

/**
 * Returns only the settings that differ, so that the change does not undo what others have changed in the meantime.
 */
export function changesBetween(before: AccountDraft, after: AccountDraft): AccountChanges {
  const { baseUrl, apiKey, requestsPerSecond, polling } = after;
  return {
    ...(baseUrl === before.baseUrl ? {} : { baseUrl }),
    ...(apiKey === before.apiKey ? {} : { apiKey }),
    ...(requestsPerSecond === before.requestsPerSecond
      ? {}
      : { requestsPerSecond: Number(requestsPerSecond) }),
    ...(polling === before.polling ? {} : { polling }),
  };
}

/** Returns the faults that the API cannot find: an emptied field is not part of the request. */
export function faultsOf(before: AccountDraft, after: AccountDraft): Faults | undefined {
  return before.requestsPerSecond !== '' && after.requestsPerSecond.trim() === ''
    ? { requestsPerSecond: 'Enter a number.' }
    : undefined;
}
