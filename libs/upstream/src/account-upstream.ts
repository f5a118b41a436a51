import type { Logger } from '#platform';
import type { RequestBudget, RequestClass } from './request-budget.js';
import { UpstreamStatusError, UpstreamTimeoutError, UpstreamUnreachableError } from './upstream-error.js';
import type { UpstreamHealth } from './upstream-health.js';
import type { ContactList, MessagePage, Upstream, UpstreamAddress, UpstreamSend } from './upstream.js';

/** Where an account's upstream is, and what it may cost. */
export interface UpstreamAccount extends UpstreamAddress {
  requestsPerSecond: number;
}

/** Finds an account's upstream. @throws if there is no such account */
export type FindUpstreamAccount = (account: string) => Promise<UpstreamAccount>;

/** How long a request waits for its turn within the budget, in milliseconds. */
const PATIENCE_MS = { send: 2_000, read: 5_000, poll: 15_000 } as const;

/** Upstream as its accounts see it: within the budget, and with an eye on its health. */
export class AccountUpstream {
  private readonly thoughtDown = new Set<string>();

  constructor(
    private readonly upstream: Upstream,
    private readonly find: FindUpstreamAccount,
    private readonly budget: RequestBudget,
    private readonly health: UpstreamHealth,
    private readonly logger: Logger,
  ) {}

  /** Resolves when one request may leave. @throws {BudgetExhaustedError} */
  async admit(account: string, kind: RequestClass): Promise<void> {
    const { requestsPerSecond } = await this.find(account);
    await this.budget.acquire(account, requestsPerSecond, kind, PATIENCE_MS[kind]);
  }

  /** One POST, for which the budget was asked before. @throws {UpstreamError} */
  async post(account: string, send: UpstreamSend): Promise<void> {
    const address = await this.find(account);
    await this.watch(account, () => this.upstream.send(address, send));
  }

  /** @throws {UpstreamError | BudgetExhaustedError} */
  async listContacts(account: string, kind: RequestClass): Promise<ContactList> {
    const address = await this.find(account);
    await this.admit(account, kind);
    return this.watch(account, () => this.upstream.listContacts(address));
  }

  /** @throws {UpstreamError | BudgetExhaustedError} */
  async listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    kind: RequestClass,
  ): Promise<MessagePage> {
    const address = await this.find(account);
    await this.admit(account, kind);
    return this.watch(account, () => this.upstream.listMessages(address, contactId, page, limit));
  }

  private async watch<T>(account: string, request: () => Promise<T>): Promise<T> {
    try {
      const result = await request();
      await this.note(account, undefined);
      return result;
    } catch (error) {
      await this.note(account, downReason(error));
      throw error;
    }
  }

  /** Writes only what is news to this process, and while it is down: another process may think otherwise. */
  private async note(account: string, reason: string | undefined): Promise<void> {
    if (reason !== undefined) {
      this.thoughtDown.add(account);
      if (await this.health.down(account, reason)) this.logger.warn({ account, reason }, 'upstream is down');
    } else if (this.thoughtDown.delete(account)) {
      if (await this.health.well(account)) this.logger.info({ account }, 'upstream is back');
    }
  }
}

/** Why upstream is down, or undefined if the error is no sign of that. */
function downReason(error: unknown): string | undefined {
  const down =
    error instanceof UpstreamUnreachableError ||
    error instanceof UpstreamTimeoutError ||
    (error instanceof UpstreamStatusError && (error.status >= 500 || error.status === 401));
  return down ? error.message : undefined;
}
