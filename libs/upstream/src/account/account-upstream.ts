import { type Logger, logWords, pause, type TimeLimit } from '#platform';
import { type Admission, admission } from '../budget/admission.js';
import type { ContactList, ContactReader } from '../reply/contact-list.js';
import { Circuit, isAway } from './circuit.js';
import { type AdaptiveBudget, BudgetExhaustedError, MAX_PAUSE_MS } from '../budget/request-budget.js';
import type { RequestTurn } from '../budget/request-turn.js';
import {
  UpstreamError,
  UpstreamIsGatewayError,
  UpstreamStatusError,
  UpstreamTooLateError,
  UpstreamUnavailableError,
} from '../upstream-error.js';
import type { OutageKind, UpstreamHealth } from './upstream-health.js';
import { upstreamStamp } from '../upstream-stamp.js';
import { WaitingLines } from '../budget/waiting-lines.js';
import type { MessagePage, Upstream, UpstreamAddress, UpstreamQuery, UpstreamSend } from '../upstream.js';

/** Address, API key and request budget of an account's upstream. */
export interface UpstreamAccount extends UpstreamAddress {
  requestsPerSecond: number;
}

/** Finds an account's upstream. @throws if the account is not found */
export type FindUpstreamAccount = (account: string) => Promise<UpstreamAccount>;

/** Maximum wait for a token, in milliseconds, by request class. Requests of polls wait without a limit. */
const MAX_WAIT_MS = { send: 2_000, read: 5_000 } as const;

/** What a request is for: a class whose wait is limited, or a poll. */
export type RequestFor = keyof typeof MAX_WAIT_MS | RequestTurn;

/**
 * Number of consecutive 403 answers to POSTs after which the account counts as refused. Fewer may concern single
 * messages.
 */
const FORBIDDEN_AFTER = 3;

/** Page size that upstream documents: the usual value of `limit`. */
const DOCUMENTED_LIMIT = 20;

/** Reader that keeps no contact: a probe reads the contact list only to see whether upstream answers. */
const DISCARDING_READER: ContactReader = { see: () => false };

/** Sends the requests of all accounts to upstream. Keeps each account's budget. Holds requests during an outage. */
export class AccountUpstream {
  private readonly circuits = new Map<string, Circuit>();
  private readonly lines = new WaitingLines();
  private readonly stopping = new AbortController();

  constructor(
    private readonly upstream: Upstream,
    private readonly find: FindUpstreamAccount,
    private readonly budget: AdaptiveBudget,
    private readonly health: UpstreamHealth,
    private readonly logger: Logger,
  ) {}

  /** Forgets the circuit of an account that was removed. */
  forget(account: string): void {
    this.circuits.delete(account);
  }

  /** Ends every poll's wait for a token, because the process stops. */
  stopWaiting(): void {
    this.stopping.abort();
  }

  /**
   * Resolves when one request may be sent.
   * @throws {UpstreamUnavailableError | BudgetExhaustedError}
   */
  async admit(account: string, turn: RequestFor): Promise<Admission> {
    return this.admitOpen(account, await this.findOpen(account), turn);
  }

  private async admitOpen(
    account: string,
    { requestsPerSecond }: UpstreamAccount,
    turn: RequestFor,
  ): Promise<Admission> {
    // The shared health shows no outage, so a circuit that is open here is out of date. If writing the outage failed,
    // the next failures open the circuit again.
    this.circuitOf(account).reset();
    if (typeof turn === 'string') {
      const patience = MAX_WAIT_MS[turn];
      const acquire = (unused: number): Promise<number> =>
        this.budget.acquire(account, requestsPerSecond, turn, patience, unused);
      return admission(await acquire(0), () => acquire(1));
    }
    const wait = (unused: number): Promise<number> => this.waitFor(account, turn, unused);
    const { token } = turn;
    delete turn.token;
    return admission(token ?? (await wait(0)), () => wait(1));
  }

  /** Returns the stamp of the account's upstream address. @throws if the account is not found */
  async addressOf(account: string): Promise<string> {
    return upstreamStamp((await this.find(account)).baseUrl);
  }

  /** Resolves to true if the account's requests are held. */
  async isHeld(account: string): Promise<boolean> {
    return (await this.health.outage(account)) !== undefined;
  }

  /**
   * Sends one POST. The caller must have acquired a token before.
   * @param limit once this time limit is over, nothing of the request is written
   * @param admission the result of {@link admit}
   * @param only the stamp of the only address that may receive the POST; any address if absent
   * @throws {UpstreamError}
   */
  async post(
    account: string,
    send: UpstreamSend,
    limit?: TimeLimit,
    admission?: Admission,
    only?: string,
  ): Promise<void> {
    const found = await this.find(account);
    if (only !== undefined && upstreamStamp(found.baseUrl) !== only) {
      send.file?.content.destroy();
      throw new UpstreamTooLateError();
    }
    const address = { ...found, ...(admission === undefined ? {} : { admission }) };
    await this.watch(account, address, async () => {
      try {
        await this.upstream.send(address, send, limit);
        await this.notePost(account, undefined);
      } catch (error) {
        if (error instanceof UpstreamStatusError) await this.notePost(account, error);
        throw error;
      }
    });
  }

  /** @throws {UpstreamError | BudgetExhaustedError} */
  async listContacts<R extends ContactReader>(
    account: string,
    turn: RequestFor,
    newReader: () => R,
  ): Promise<ContactList<R>> {
    const address = await this.admitted(account, turn);
    return this.watch(account, address, () => this.upstream.listContacts(address, newReader));
  }

  /** @throws {UpstreamError | BudgetExhaustedError} */
  async listMessages(
    account: string,
    contactId: string,
    page: number,
    limit: number,
    turn: RequestFor,
  ): Promise<MessagePage> {
    const address = await this.admitted(account, turn);
    return this.watch(
      account,
      address,
      () => this.upstream.listMessages(address, contactId, page, limit),
      (error) => isDeep(page, limit) && isServerError(error),
    );
  }

  /**
   * Reads the contact list for a caller, as upstream wrote it.
   * @throws {UpstreamError | BudgetExhaustedError}
   */
  async showContacts(account: string, query: UpstreamQuery): Promise<string> {
    return this.show(account, (address) => this.upstream.showContacts(address, query));
  }

  /**
   * Reads a page of a contact's messages for a caller, as upstream wrote it.
   * @throws {UpstreamError | BudgetExhaustedError}
   */
  async showMessages(account: string, contactId: string, query: UpstreamQuery): Promise<string> {
    return this.show(account, (address) => this.upstream.showMessages(address, contactId, query));
  }

  /**
   * Reads the contact list to find out whether an outage is over, and records the result.
   * @throws {BudgetExhaustedError}
   */
  async probe(account: string): Promise<void> {
    const outage = await this.health.outage(account);
    if (outage === undefined) return;
    const address = await this.find(account);
    const acquire = (unused: number): Promise<number> =>
      this.budget.acquire(account, address.requestsPerSecond, 'send', MAX_WAIT_MS.send, unused);
    await admission(await acquire(0), () => acquire(1))();
    try {
      await (await this.upstream.listContacts(address, () => DISCARDING_READER)).close();
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      const kind = kindOf(error, outage.kind);
      if (kind !== undefined) {
        await this.health.probeFailed(account, kind, logWords(error));
        return;
      }
    }
    if (await this.health.well(account, outage)) this.logger.info({ account }, 'upstream is back');
  }

  /**
   * Makes a read whose parameters a caller chose. Records only answers that concern the account: a caller's
   * parameters must not be able to make upstream count as away.
   */
  private async show(
    account: string,
    request: (address: UpstreamAddress) => Promise<string>,
  ): Promise<string> {
    const address = await this.admitted(account, 'read');
    try {
      const shown = await request(address);
      await this.noted(account, () => this.budget.fine(account, address.requestsPerSecond));
      return shown;
    } catch (error) {
      await this.noteRefusal(account, address.requestsPerSecond, error);
      throw error;
    }
  }

  /** Waits until a request may be sent, and returns the address for the request. */
  private async admitted(account: string, turn: RequestFor): Promise<UpstreamAccount> {
    const hasToken = typeof turn === 'object' && turn.token !== undefined;
    const found = await this.findOpen(account);
    const may = await this.admitOpen(account, found, turn);
    // The account may have changed during the wait for a token.
    return { ...(hasToken ? found : await this.find(account)), admission: may };
  }

  /**
   * Waits without a limit for a poll's token. In this process, only one request of each class and account asks at a
   * time. Every attempt reads the account, its budget and its outage again, because each may change during the wait.
   */
  private waitFor(account: string, { kind, signal }: RequestTurn, unused: number): Promise<number> {
    const stop = AbortSignal.any([this.stopping.signal, ...(signal === undefined ? [] : [signal])]);
    return this.lines.inTurn(
      `${kind} ${account}`,
      async () => {
        for (let returned = unused, waited = 0; ; returned = 0) {
          if (stop.aborted) throw new BudgetExhaustedError(waited);
          const { requestsPerSecond } = await this.findOpen(account);
          const { waitMs, askedAt } = await this.budget.ask(account, requestsPerSecond, kind, returned);
          if (waitMs === 0) return askedAt;
          waited = waitMs;
          await pause(Math.min(waitMs, MAX_PAUSE_MS), stop);
        }
      },
      stop,
    );
  }

  /** @throws {UpstreamUnavailableError} while the account's requests are held */
  private async findOpen(account: string): Promise<UpstreamAccount> {
    const found = await this.find(account);
    const outage = await this.health.outage(account);
    if (outage !== undefined) throw new UpstreamUnavailableError(outage.reason);
    return found;
  }

  private async watch<T>(
    account: string,
    { requestsPerSecond: rate }: UpstreamAccount,
    request: () => Promise<T>,
    isOwnFault?: (error: unknown) => boolean,
  ): Promise<T> {
    const circuit = this.circuitOf(account);
    const wasOpen = circuit.isOpen();
    try {
      const result = await circuit.run(request, isOwnFault);
      await this.noted(account, () => this.budget.fine(account, rate));
      return result;
    } catch (error) {
      await this.noteRefusal(account, rate, error);
      if (!wasOpen && circuit.isOpen() && isAway(error)) await this.hold(account, 'away', error);
      throw error;
    }
  }

  /**
   * Records what an error says about the account: its rate is too high (429), it is refused (401), or its upstream is
   * a gateway.
   */
  private async noteRefusal(account: string, rate: number, error: unknown): Promise<void> {
    if (error instanceof UpstreamIsGatewayError) await this.hold(account, 'loop', error);
    if (!(error instanceof UpstreamStatusError)) return;
    if (error.status === 429) await this.noted(account, () => this.budget.tooMany(account, rate));
    if (error.status === 401) await this.hold(account, 'refused', error);
  }

  private async notePost(account: string, refusal: UpstreamStatusError | undefined): Promise<void> {
    await this.noted(account, async () => {
      if (refusal?.status !== 403) await this.health.notForbidden(account);
      else if ((await this.health.forbidden(account)) >= FORBIDDEN_AFTER)
        await this.hold(account, 'refused', refusal);
    });
  }

  private async hold(account: string, kind: OutageKind, cause: unknown): Promise<void> {
    // The reason is stored, emitted and logged. It leaves out upstream's own words, which may quote a message.
    const reason = logWords(cause);
    await this.noted(account, async () => {
      if (await this.health.down(account, kind, reason))
        this.logger.warn({ account, kind, reason }, 'upstream is down; requests are held');
    });
  }

  /**
   * Writes to the shared health. A failed write is only logged, so that it does not hide the outcome of the request.
   */
  private async noted(account: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.logger.warn({ account, err: error }, 'the health of upstream could not be recorded');
    }
  }

  private circuitOf(account: string): Circuit {
    const circuit = this.circuits.get(account) ?? new Circuit();
    this.circuits.set(account, circuit);
    return circuit;
  }
}

/**
 * Returns the kind of the outage that goes on after a probe failed, or undefined if upstream answered. A 403 to the
 * contact list extends an outage only if the account was refused before.
 */
function kindOf(error: UpstreamError, before: OutageKind): OutageKind | undefined {
  if (isAway(error)) return before;
  if (error instanceof UpstreamIsGatewayError) return 'loop';
  if (!(error instanceof UpstreamStatusError)) return undefined;
  if (error.status === 401) return 'refused';
  return error.status === 403 && before === 'refused' ? 'refused' : undefined;
}

/**
 * Returns true if a read asks for more than the first page in the documented size. A 5xx to such a read may concern
 * one message that upstream cannot show, so it must not hold the account. Other requests find a real outage.
 */
function isDeep(page: number, limit: number): boolean {
  return page > 1 || limit !== DOCUMENTED_LIMIT;
}

function isServerError(error: unknown): boolean {
  return error instanceof UpstreamStatusError && error.status >= 500;
}
