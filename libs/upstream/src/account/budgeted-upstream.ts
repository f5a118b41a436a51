import { type Logger, logMessageOf, type TimeLimit } from '#platform';
import type { BudgetTokenRenewal } from '../budget/budget-token-renewal.js';
import type { ContactList, ContactReader } from '../reply/contact-list.js';
import { isUpstreamDownError } from './circuit-breaker.js';
import { RequestWatcher } from './request-watcher.js';
import { type RequestPurpose, BudgetTokenAcquirer } from './budget-token-acquirer.js';
import type { AdaptiveBudget } from '../budget/request-budget.js';
import {
  isIncompleteReplyError,
  UpstreamError,
  UpstreamIsTidingsError,
  UpstreamStatusError,
  UpstreamRequestNotSentError,
} from '../upstream-error.js';
import type { FindUpstreamAccount, UpstreamAccount } from './upstream-account.js';
import type { OutageKind, UpstreamHealth } from './upstream-health.js';
import { hashUpstreamAddress } from '../upstream-address-hash.js';
import type { MessagePage, Upstream, UpstreamAddress, UpstreamQuery, UpstreamSend } from '../upstream.js';

/** Page limit in upstream's documentation: the value of the query parameter `limit` of a page of messages. */
const DOCUMENTED_LIMIT = 20;

/**
 * Reader that ignores every contact. Probes use this reader, because a probe reads the contact list only to see
 * whether upstream answers.
 */
const DISCARDING_READER: ContactReader = { receive: () => false };

/**
 * The token of the budget for a POST: the result of {@link BudgetedUpstream.takeBudgetToken}; or, for a token that
 * was taken elsewhere, the time at which it was requested, by `performance.now()`. When such a token was taken, two
 * conditions must have been true:
 *
 * - No outage of the account was recorded in Redis. Therefore {@link BudgetedUpstream.post} first closes the circuit
 *   breaker, unless the circuit breaker opened after the token was requested.
 * - The account's number of consecutive 403 answers to POSTs was 0. Therefore a successful POST does not reset this
 *   number.
 */
export type PostToken = BudgetTokenRenewal | { requestedAt: number };

/**
 * Sends the requests of all accounts to upstream. Keeps each account within its request budget. During an
 * outage of an account it sends only probes.
 */
export class BudgetedUpstream {
  private readonly watcher: RequestWatcher;
  private readonly tokens: BudgetTokenAcquirer;

  constructor(
    private readonly upstream: Upstream,
    private readonly find: FindUpstreamAccount,
    budget: AdaptiveBudget,
    private readonly health: UpstreamHealth,
    private readonly logger: Logger,
  ) {
    this.watcher = new RequestWatcher(budget, health, logger);
    this.tokens = new BudgetTokenAcquirer(find, budget, health, this.watcher);
  }

  /** Removes the circuit breaker of an account that was removed. */
  forget(account: string): void {
    this.watcher.forget(account);
  }

  /** Makes every poll stop waiting for a token of the budget, because the process is stopping. */
  stopWaiting(): void {
    this.tokens.stopWaiting();
  }

  /**
   * Takes a token of the budget for one request. Resolves to a function that replaces the token if it has expired.
   * The caller must await this function right before it sends the request.
   * @throws {UpstreamUnavailableError} during an outage of the account
   * @throws {BudgetExhaustedError} if the budget has no token in time, or if the wait of a poll is aborted
   */
  async takeBudgetToken(account: string, purpose: RequestPurpose): Promise<BudgetTokenRenewal> {
    return this.tokens.acquire(account, purpose);
  }

  /**
   * Posts one send to upstream.
   * @param limit latest start of the request; after it, the request is not sent
   * @param token the token of the budget that the caller has taken; it is replaced if it has expired
   * @param expectedAddress hash of the only upstream address that may receive the POST; undefined if any may receive
   * it
   * @throws {UpstreamError} if the request fails or is not sent
   * @throws {BudgetExhaustedError} if the token has expired, and the budget has no other token in time
   */
  async post(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    token: PostToken,
    expectedAddress: string | undefined,
  ): Promise<void> {
    try {
      await this.postTo(account, send, limit, token, expectedAddress);
    } finally {
      send.file?.content.destroy();
    }
  }

  private async postTo(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    token: PostToken,
    expectedAddress: string | undefined,
  ): Promise<void> {
    const isTakenElsewhere = typeof token === 'object';
    const tokenRenewal = isTakenElsewhere ? this.tokens.renewalOf(account, token.requestedAt, 'send') : token;
    const found = await this.findForPost(account);
    if (expectedAddress !== undefined && hashUpstreamAddress(found.baseUrl) !== expectedAddress)
      throw new UpstreamRequestNotSentError();
    const address = { ...found, tokenRenewal };
    const post = async (): Promise<void> => {
      try {
        await this.upstream.send(address, send, limit);
        if (!isTakenElsewhere) await this.watcher.recordPostStatus(account, undefined);
      } catch (error) {
        if (error instanceof UpstreamStatusError) await this.watcher.recordPostStatus(account, error);
        throw error;
      }
    };
    await this.watcher.watch(account, address.requestsPerSecond, post, { request: 'post' });
  }

  /**
   * Returns the account of a send that is about to be posted.
   * @throws {UpstreamRequestNotSentError} if the account cannot be read
   */
  private async findForPost(account: string): Promise<UpstreamAccount> {
    try {
      return await this.find(account);
    } catch (error) {
      throw new UpstreamRequestNotSentError({ cause: error });
    }
  }

  /**
   * Reads an account's contact list from upstream.
   * @param newReader creates the reader that receives the contacts
   * @throws {UpstreamError} if the request fails or is not sent
   * @throws {BudgetExhaustedError} if the budget has no token in time, or if the wait of a poll is aborted
   */
  async listContacts<R extends ContactReader>(
    account: string,
    purpose: RequestPurpose,
    newReader: () => R,
  ): Promise<ContactList<R>> {
    const address = await this.tokens.accountWithToken(account, purpose);
    // A long list may always take longer than the time limit, while upstream answers other requests.
    return this.watcher.watch(
      account,
      address.requestsPerSecond,
      () => this.upstream.listContacts(address, newReader),
      { mayBeCausedByRequest: isIncompleteReplyError },
    );
  }

  /**
   * Reads one page of a contact's messages from upstream.
   * @param page number of the page, from 1
   * @param limit maximum number of messages in the page
   * @param knownDigest digest of this page from an earlier read; an unchanged page is not parsed
   * @throws {UpstreamError} if the request fails or is not sent
   * @throws {BudgetExhaustedError} if the budget has no token in time, or if the wait of a poll is aborted
   */
  async listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    purpose: RequestPurpose,
    knownDigest?: string,
  ): Promise<MessagePage> {
    const address = await this.tokens.accountWithToken(account, purpose);
    return this.watcher.watch(
      account,
      address.requestsPerSecond,
      () => this.upstream.listMessages(address, contactId, page, limit, knownDigest),
      { request: 'messages', mayBeCausedByRequest: (error) => isDeep(page, limit) && isServerError(error) },
    );
  }

  /**
   * Reads the contact list for an API caller. Resolves to upstream's JSON text, unchanged.
   * @throws {UpstreamError} if the request fails or is not sent
   * @throws {BudgetExhaustedError} if the budget has no token in time
   */
  async readContactsText(account: string, query: UpstreamQuery): Promise<string> {
    return this.readText(account, (address) => this.upstream.readContactsText(address, query));
  }

  /**
   * Reads a page of a contact's messages for an API caller. Resolves to upstream's JSON text, unchanged.
   * @throws {UpstreamError} if the request fails or is not sent
   * @throws {BudgetExhaustedError} if the budget has no token in time
   */
  async readMessagesText(account: string, contactId: string, query: UpstreamQuery): Promise<string> {
    return this.readText(account, (address) => this.upstream.readMessagesText(address, contactId, query));
  }

  /**
   * Reads the contact list to find out whether an outage is over, and records the result.
   * @throws {BudgetExhaustedError} if the budget has no token in time
   */
  async probe(account: string): Promise<void> {
    const outage = await this.health.outage(account);
    if (outage === undefined) return;
    const address = await this.find(account);
    const tokenRenewal = await this.tokens.acquireWithoutOutageCheck(
      account,
      address.requestsPerSecond,
      'send',
    );
    try {
      const list = await this.upstream.listContacts({ ...address, tokenRenewal }, () => DISCARDING_READER);
      await list.close();
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const kind = kindOf(error, outage.kind);
      if (kind !== undefined) {
        await this.health.recordFailedProbe(account, kind, logMessageOf(error));
        return;
      }
    }
    if (await this.health.recordRecovery(account, outage))
      this.logger.info({ account }, 'upstream is available again for an account');
  }

  /**
   * Makes a read whose parameters an API caller chose. Records its success, but only those errors that concern the
   * whole account. The parameters may cause other errors, which must not start an outage.
   */
  private async readText(
    account: string,
    request: (address: UpstreamAddress) => Promise<string>,
  ): Promise<string> {
    const address = await this.tokens.accountWithToken(account, 'read');
    try {
      const shown = await request(address);
      await this.watcher.recordSuccess(account, address.requestsPerSecond);
      return shown;
    } catch (error) {
      await this.watcher.recordRefusal(account, address.requestsPerSecond, error);
      throw error;
    }
  }
}

/**
 * Returns the kind of outage that the error of a probe shows, or undefined if the outage is over. An error answer
 * such as 404 ends the outage, because it shows that upstream works. A 403 answer ends the outage, too, unless
 * upstream refused the account before. A contact list of which only a part was received in time ends the outage, too:
 * it may be too long for the time limit even when upstream works.
 */
function kindOf(error: UpstreamError, before: OutageKind): OutageKind | undefined {
  if (isIncompleteReplyError(error)) return undefined;
  if (isUpstreamDownError(error)) return before;
  if (error instanceof UpstreamIsTidingsError) return 'loop';
  if (!(error instanceof UpstreamStatusError)) return undefined;
  if (error.status === 401) return 'refused';
  return error.status === 403 && before === 'refused' ? 'refused' : undefined;
}

/**
 * Returns true if a read asks for a page after the first, or has a page limit other than the documented one. Upstream
 * may answer such a read with 5xx only because one message of the page cannot be read, so such an answer must not
 * start an outage. Other requests detect a real outage.
 */
function isDeep(page: number, limit: number): boolean {
  return page > 1 || limit !== DOCUMENTED_LIMIT;
}

function isServerError(error: unknown): boolean {
  return error instanceof UpstreamStatusError && error.status >= 500;
}
