import { AccountGoneError, type AccountDirectory } from '#accounts';
import type { ClaimedRead, ClaimReply, NextDue, PollAgenda, PollQueue, ReadEnd } from '#feed';
import { type Logger, logWords, pause } from '#platform';
import {
  type AccountUpstream,
  type AdaptiveBudget,
  BudgetExhaustedError,
  MAX_PAUSE_MS,
  UpstreamError,
  UpstreamStatusError,
  UpstreamUnavailableError,
} from '#upstream';
import { Hints } from './hints.js';
import type { ContactReader } from './poll-ports.js';
import { ReadsUnderWay } from './reads-under-way.js';

/** Reads under way in one worker. Upstream may take seconds to answer, and each read holds a page. */
const MAX_READS = 256;
/** An account whose next contact is due within this is not left: whoever looks after it comes later than that. */
const LINGER_MS = 1_000;
/** How often it is looked whether an account is polled still, at which rate, and whether its requests are held. */
const ACCOUNT_LIFE_MS = 250;

type Claimed = Extract<ClaimReply, { claimed: unknown }>;

/** One that asks for an account's contacts until nobody is due. */
interface Asker {
  hints: Hints;
  /** Whether somebody waits for its end, and sees to it that the account is looked at in time. */
  awaited: boolean;
  /** When the next contact is due, as the end of the last read learned it, until somebody is asked or hints. */
  told?: NextDue;
  /** In how many milliseconds the next contact is due, if that is known. */
  ended: Promise<number | undefined>;
}

/** What a poller needs of others. */
export interface PollerParts {
  queue: PollQueue;
  contacts: ContactReader;
  agenda: PollAgenda;
  accounts: Pick<AccountDirectory, 'find'>;
  upstream: Pick<AccountUpstream, 'isHeld'>;
  budget: Pick<AdaptiveBudget, 'giveBack'>;
  logger: Logger;
}

/**
 * Reads the contacts that are due. An account has one asker in each worker: it asks for a token and with it for whoever
 * is due most urgently, begins that read without waiting for its end, and asks again. So no contact is claimed before its
 * request can be made, and a worker that dies takes along only what it was reading.
 */
export class Poller {
  private readonly askers = new Map<string, Asker>();
  private readonly reads: ReadsUnderWay;
  private readonly stopping = new AbortController();

  constructor(
    private readonly parts: PollerParts,
    maxReads = MAX_READS,
  ) {
    this.reads = new ReadsUnderWay(maxReads, parts.queue, parts.logger);
  }

  /** An account may have contacts that are due. */
  look(account: string): void {
    if (this.isStopping()) return;
    const asker = this.askerOf(account);
    delete asker.told;
    asker.hints.hint();
  }

  /**
   * {@link look}, and waits a little until nobody is due any more and nothing is read: then this answers in how many
   * milliseconds the next contact is due, and the agenda is not told. Undefined where that is not known in time.
   */
  async lookAndWait(account: string, patienceMs: number): Promise<number | undefined> {
    if (this.isStopping()) return undefined;
    const asker = this.askerOf(account);
    delete asker.told;
    asker.hints.hint();
    asker.awaited = true;
    const patience = new AbortController();
    const nextDueInMs = await Promise.race([asker.ended, pause(patienceMs, patience.signal)]);
    patience.abort();
    asker.awaited = false;
    return nextDueInMs ?? undefined;
  }

  private askerOf(account: string): Asker {
    const before = this.askers.get(account);
    if (before !== undefined) return before;
    const asker: Asker = {
      hints: new Hints(this.stopping.signal),
      awaited: false,
      ended: Promise.resolve(undefined),
    };
    this.askers.set(account, asker);
    asker.ended = this.askUntilIdle(account, asker).finally(() => this.askers.delete(account));
    return asker;
  }

  /** Claims nothing more; reads under way end after the request that they are at. */
  stop(): void {
    this.stopping.abort();
    this.reads.endAll();
  }

  /** Resolves when nothing is under way. */
  async ended(): Promise<void> {
    await Promise.all([...this.askers.values()].map(({ ended }) => ended));
    await this.reads.ended();
  }

  private async askUntilIdle(account: string, asker: Asker): Promise<number | undefined> {
    try {
      return await this.ask(account, asker);
    } catch (error) {
      if (!(error instanceof AccountGoneError))
        this.parts.logger.warn(
          { account, err: error },
          'no contact could be claimed; the next hint tries again',
        );
      return undefined;
    }
  }

  /** Answers in how many milliseconds the next contact is due, once nobody is. */
  private async ask(account: string, asker: Asker): Promise<number | undefined> {
    const { hints } = asker;
    let [rate, knownAt] = [0, -Infinity];
    while (!this.isStopping()) {
      if (!this.reads.hasRoom(account)) {
        // A read that ends looks at its account; this is for room that another account left.
        hints.clear();
        await hints.rest(MAX_PAUSE_MS);
        continue;
      }
      if (performance.now() - knownAt > ACCOUNT_LIFE_MS) {
        const found = await this.parts.accounts.find(account);
        // While upstream is away reads would only fail; who is due stays due.
        if (found?.polling !== true || (await this.parts.upstream.isHeld(account))) return undefined;
        [rate, knownAt] = [found.requestsPerSecond, performance.now()];
      }
      if (this.isStopping()) return undefined;
      hints.clear();
      const { told } = asker;
      delete asker.told;
      const isIdle = told?.nextDueInMs !== undefined && told.nextDueInMs > 0;
      const reply = isIdle ? told : await this.parts.queue.claim(account, rate);
      if ('claimed' in reply) this.begin(account, rate, reply);
      if ('waitMs' in reply) await pause(Math.min(reply.waitMs, MAX_PAUSE_MS), this.stopping.signal);
      else if (!(await this.waitForMore(account, asker, reply))) return reply.nextDueInMs;
    }
    return undefined;
  }

  /** Waits until somebody may be due. Answers false if the agenda is to find that out, or whoever waits for this. */
  private async waitForMore(
    account: string,
    { hints, awaited }: Asker,
    { nextDueAt, nextDueInMs }: NextDue,
  ): Promise<boolean> {
    if (hints.came()) return true;
    const isReading = this.reads.has(account);
    // The end of a read is a hint; should this worker die before it, the account's round finds who is due.
    if (isReading || (nextDueInMs !== undefined && nextDueInMs <= LINGER_MS)) {
      if (nextDueInMs !== 0) await hints.rest(nextDueInMs ?? MAX_PAUSE_MS);
      return true;
    }
    if (nextDueAt !== undefined && !awaited) this.parts.agenda.at(account, nextDueAt);
    // A hint that came meanwhile would find nobody else.
    return hints.came();
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private begin(account: string, rate: number, { claimed, tokenAskedAt, availableForPolls }: Claimed): void {
    const ended = this.reads.begin(account, claimed, async (signal): Promise<NextDue> => {
      const { kind, failed, lateMs } = claimed;
      const read: ClaimedRead = { kind, failed, lateMs, availableForPolls, token: tokenAskedAt, signal };
      try {
        const how = await this.read(account, claimed.contactId, read);
        if (read.token !== undefined) await this.parts.budget.giveBack(account, rate);
        if (how !== undefined) return await this.parts.queue.end(account, claimed, how);
      } catch (error) {
        // Its lease ends by itself.
        this.parts.logger.warn(
          { account, contactId: claimed.contactId, err: error },
          'the end of a poll could not be noted',
        );
      }
      return {};
    });
    void ended.then((next) => {
      this.readEnded(account, next);
    });
  }

  /** It may be due again soon, or leave room for another one. */
  private readEnded(account: string, next: NextDue): void {
    const asker = this.askers.get(account);
    // What another hint is about is not in what the end of this read was told.
    if (asker === undefined || asker.hints.came() || this.isStopping()) {
      this.look(account);
      return;
    }
    asker.told = next;
    asker.hints.hint();
  }

  /** How it ended; undefined where its account is no more. */
  private async read(account: string, contactId: string, read: ClaimedRead): Promise<ReadEnd | undefined> {
    try {
      const { contacts } = this.parts;
      if (read.kind === 'head') {
        if (await contacts.pollNews(account, contactId, read)) return 'done';
        return read.signal.aborted ? 'back' : 'later';
      }
      return (await contacts.readDeep(account, contactId, read, read.signal)) ? 'done' : 'back';
    } catch (error) {
      if (error instanceof AccountGoneError) return undefined;
      if (error instanceof BudgetExhaustedError) return 'back';
      const { logger } = this.parts;
      if (error instanceof UpstreamError)
        logger.warn({ account, contactId, reason: logWords(error) }, 'a poll failed');
      else logger.error({ account, contactId, err: error }, 'a poll broke');
      return isAboutAccount(error) ? 'later' : 'failed';
    }
  }
}

/** Whether an error says nothing about the contact that was read. */
function isAboutAccount(error: unknown): boolean {
  return (
    error instanceof UpstreamUnavailableError ||
    (error instanceof UpstreamStatusError && [401, 429].includes(error.status))
  );
}
