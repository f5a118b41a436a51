import type { Account } from '#client';
import type { Faults } from '../kit/rejection.js';

/** An account as a form edits it: texts as the reader types them. */
export interface AccountDraft {
  id: string;
  baseUrl: string;
  /** API key at the messaging service. Empty to keep the present one, which the API never shows. */
  apiKey: string;
  requestsPerSecond: string;
  polling: boolean;
}

/** Settings of an account for the API. What is absent stays as it is, or has its default in a new account. */
export interface AccountChanges {
  baseUrl?: string;
  apiKey?: string;
  requestsPerSecond?: number;
  polling?: boolean;
}

const EMPTY: AccountDraft = { id: '', baseUrl: '', apiKey: '', requestsPerSecond: '', polling: true };

/** Returns the form of an account, or of a new one. */
export function draftOf(account?: Account): AccountDraft {
  if (account === undefined) return EMPTY;
  const { id, baseUrl, requestsPerSecond, polling } = account;
  return { id, baseUrl, apiKey: '', requestsPerSecond: String(requestsPerSecond), polling };
}

/** Returns the settings that differ, so that a change leaves alone what others changed meanwhile. */
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

/** Returns the faults that the API could not see in a change: a field that was emptied is not sent. */
export function faultsOf(before: AccountDraft, after: AccountDraft): Faults | undefined {
  return before.requestsPerSecond !== '' && after.requestsPerSecond.trim() === ''
    ? { requestsPerSecond: 'Enter a number.' }
    : undefined;
}
