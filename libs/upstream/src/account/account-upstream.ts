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

/** Where an account's upstream is, and what it may cost. */
export interface UpstreamAccount extends UpstreamAddress {
  requestsPerSecond: number;
}

/** Finds an account's upstream. @throws if there is no such account */
export type FindUpstreamAccount = (account: string) => Promise<UpstreamAccount>;

/** How long a request that somebody waits for waits for its token, in milliseconds. Polls have no such deadline. */
const PATIENCE_MS = { send: 2_000, read: 5_000 } as const;

/** Who makes a request: a class with a deadline, or a poll. */
export type RequestFor = keyof typeof PATIENCE_MS | RequestTurn;

/** One POST may be forbidden for its own sake; so many in a row are forbidden for the account's. */
const FORBIDDEN_AFTER = 3;

/** The `limit` that upstream documents. */
const DOCUMENTED_LIMIT = 20;

/** Of a list that is read to see whether it can be. */
const NOTHING_WANTED: ContactReader = { see: () => false };

/** Upstream as its accounts see it: within the budget, and not at all while it is away or lets the account in no more. */
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

  /** The account is no more: what this process knew of its upstream goes with it. */
  forget(account: string): void {
    this.circuits.delete(account);
  }

  /** The process is to end: no poll waits for a token any more. */
  stopWaiting(): void {
    this.stopping.abort();
  }

  /**
   * Resolves when one request may leave, soon after.
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
    // Whatever made it open is over, or was never told: then it opens again soon enough.
    this.circuitOf(account).reset();
    if (typeof turn === 'string') {
      const patience = PATIENCE_MS[turn];
      const acquire = (unused: number): Promise<number> =>
        this.budget.acquire(account, requestsPerSecond, turn, patience, unused);
      return admission(await acquire(0), () => acquire(1));
    }
    const wait = (unused: number): Promise<number> => this.waitFor(account, turn, unused);
    const { token } = turn;
    delete turn.token;
    return admission(token ?? (await wait(0)), () => wait(1));
  }

  /** The stamp of the address that the account's requests go to. @throws if there is no such account */
  async addressOf(account: string): Promise<string> {
    return upstreamStamp((await this.find(account)).baseUrl);
  }

  /** Whether the account's requests are held. */
  async isHeld(account: string): Promise<boolean> {
    return (await this.health.outage(account)) !== undefined;
  }

  /**
   * One POST, for which the budget was asked before.
   * @param limit once it is over not a byte of it leaves
   * @param admission what {@link admit} answered
   * @param only the stamp of the address that it may go to; any if absent
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
   * The contact list for a caller, as upstream wrote it.
   * @throws {UpstreamError | BudgetExhaustedError}
   */
  async showContacts(account: string, query: UpstreamQuery): Promise<string> {
    return this.show(account, (address) => this.upstream.showContacts(address, query));
  }

  /**
   * A page of a contact's messages for a caller, as upstream wrote it.
   * @throws {UpstreamError | BudgetExhaustedError}
   */
  async showMessages(account: string, contactId: string, query: UpstreamQuery): Promise<string> {
    return this.show(account, (address) => this.upstream.showMessages(address, contactId, query));
  }

  /**
   * Sees by a harmless read whether an outage is over, and notes what it saw.
   * @throws {BudgetExhaustedError}
   */
  async probe(account: string): Promise<void> {
    const outage = await this.health.outage(account);
    if (outage === undefined) return;
    const address = await this.find(account);
    const acquire = (unused: number): Promise<number> =>
      this.budget.acquire(account, address.requestsPerSecond, 'send', PATIENCE_MS.send, unused);
    await admission(await acquire(0), () => acquire(1))();
    try {
      await (await this.upstream.listContacts(address, () => NOTHING_WANTED)).close();
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
   * A read whose parameters a caller chose, who must not be able to make upstream count as away: only answers that are
   * about the account are noted.
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

  /** Where the request goes, once it may leave. */
  private async admitted(account: string, turn: RequestFor): Promise<UpstreamAccount> {
    const hasToken = typeof turn === 'object' && turn.token !== undefined;
    const found = await this.findOpen(account);
    const may = await this.admitOpen(account, found, turn);
    // Who waited for a token finds the account as it is by then.
    return { ...(hasToken ? found : await this.find(account)), admission: may };
  }

  /**
   * Waits for a poll's token for as long as it takes. In this process one request of a class asks at a time. Everything
   * that can change meanwhile is looked at anew: the account, its budget, whether its requests are held.
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

  /** Notes what an error says of the account: too many requests, that it is not let in, or that it has no upstream. */
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
    // Kept, told and logged: without upstream's own words, which may quote a text.
    const reason = logWords(cause);
    await this.noted(account, async () => {
      if (await this.health.down(account, kind, reason))
        this.logger.warn({ account, kind, reason }, 'upstream is down; requests are held');
    });
  }

  /** A note that cannot be written must not hide how the request ended. */
  private async noted(account: string, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.logger.warn({ account, err: error }, 'the health of upstream could not be noted');
    }
  }

  private circuitOf(account: string): Circuit {
    const circuit = this.circuits.get(account) ?? new Circuit();
    this.circuits.set(account, circuit);
    return circuit;
  }
}

/**
 * What an error of a probe says: that the outage goes on, as which kind, or nothing, for it is an answer. A list that is
 * forbidden says something only of an account that was refused.
 */
function kindOf(error: UpstreamError, before: OutageKind): OutageKind | undefined {
  if (isAway(error)) return before;
  if (error instanceof UpstreamIsGatewayError) return 'loop';
  if (!(error instanceof UpstreamStatusError)) return undefined;
  if (error.status === 401) return 'refused';
  return error.status === 403 && before === 'refused' ? 'refused' : undefined;
}

/**
 * Whether a read asks for more than the first page as documented. Its 5xx may be about what stands there, such as one row
 * that upstream cannot write: it must not hold the account. If upstream is away, other requests find that out.
 */
function isDeep(page: number, limit: number): boolean {
  return page > 1 || limit !== DOCUMENTED_LIMIT;
}

function isServerError(error: unknown): boolean {
  return error instanceof UpstreamStatusError && error.status >= 500;
}
