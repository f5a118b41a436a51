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
  /** The accounts whose upstream this process has seen to be well, and not down since. */
  private readonly thoughtWell = new Set<string>();

  constructor(
    private readonly upstream: Upstream,
    private readonly find: FindUpstreamAccount,
    private readonly budget: RequestBudget,
    private readonly health: Pick<UpstreamHealth, 'well' | 'down'>,
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
      const reason = downReason(error);
      // A refusal is an answer; a connection that broke, or an answer that cannot be read, says neither.
      if (reason !== undefined || error instanceof UpstreamStatusError) await this.note(account, reason);
      throw error;
    }
  }

  /**
   * Writes only what is news to this process: that it is down every time, for another process may think otherwise; that
   * it is well the first time, for a process that ended may have left it noted as down. A note that cannot be written
   * must not hide how the request ended.
   */
  private async note(account: string, reason: string | undefined): Promise<void> {
    if (reason === undefined && this.thoughtWell.has(account)) return;
    try {
      if (reason === undefined) {
        if (await this.health.well(account)) this.logger.info({ account }, 'upstream is back');
        this.thoughtWell.add(account);
      } else {
        this.thoughtWell.delete(account);
        if (await this.health.down(account, reason))
          this.logger.warn({ account, reason }, 'upstream is down');
      }
    } catch (error) {
      this.logger.warn({ account, err: error }, 'the health of upstream could not be noted');
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
