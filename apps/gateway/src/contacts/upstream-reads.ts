import { Inject, Injectable } from '@nestjs/common';
import type { Account, AccountDirectory } from '#accounts';
import { type RequestBudget, type Upstream, UpstreamStatusError } from '#upstream';
import { notFound } from '../problems/problem.js';
import { ACCOUNTS, REQUEST_BUDGET, UPSTREAM } from '../tokens.js';
import { SharedCalls } from './shared-calls.js';

/** Something of upstream's, as it is shown to callers. */
export type Shown = Readonly<Record<string, unknown>>;

/** How long a caller's read waits for its turn in the budget, in milliseconds. */
const PATIENCE_MS = 5_000;

/** Addresses that would mean another place upstream. */
const RELATIVE = new Set(['.', '..']);

/** Callers' reads of what upstream shows, within the account's budget; ids are text, everything else is untouched. */
@Injectable()
export class UpstreamReads {
  private readonly calls = new SharedCalls<Shown[]>();

  constructor(
    @Inject(UPSTREAM) private readonly upstream: Upstream,
    @Inject(REQUEST_BUDGET) private readonly budget: RequestBudget,
    @Inject(ACCOUNTS) private readonly accounts: AccountDirectory,
  ) {}

  /** @throws {UpstreamError | BudgetExhaustedError} */
  async contacts(accountId: string): Promise<Shown[]> {
    return await this.read(accountId, ['contacts'], async (account) => {
      const { items } = await this.upstream.listContacts(account);
      return items;
    });
  }

  /** @throws {Problem | UpstreamError | BudgetExhaustedError} */
  async contact(accountId: string, contactId: string): Promise<Shown> {
    const found = (await this.contacts(accountId)).find(({ id }) => id === contactId);
    if (found === undefined) throw notFound('contact', contactId);
    return found;
  }

  /** @throws {Problem | UpstreamError | BudgetExhaustedError} */
  async messages(accountId: string, contactId: string, page: number, limit: number): Promise<Shown[]> {
    if (RELATIVE.has(contactId)) throw notFound('contact', contactId);
    const request = ['messages', contactId, String(page), String(limit)];
    return await this.read(accountId, request, async (account) => {
      try {
        const { items } = await this.upstream.listMessages(account, contactId, page, limit);
        return items;
      } catch (error) {
        if (error instanceof UpstreamStatusError && error.status === 404)
          throw notFound('contact', contactId);
        throw error;
      }
    });
  }

  private async read(
    accountId: string,
    request: readonly string[],
    call: (account: Account) => Promise<{ id: string; raw: Shown }[]>,
  ): Promise<Shown[]> {
    return await this.calls.share(JSON.stringify([accountId, ...request]), async () => {
      const account = await this.accounts.find(accountId);
      if (account === undefined) throw new Error(`the account ${accountId} of an API key is not known`);
      await this.budget.acquire(account.id, account.requestsPerSecond, 'read', PATIENCE_MS);
      return (await call(account)).map(({ id, raw }) => ({ ...raw, id }));
    });
  }
}
