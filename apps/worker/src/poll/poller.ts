import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AccountNotFoundError, type AccountDirectory } from '#accounts';
import type { ClaimReply, NextDueTime, PollAgenda, PollQueue } from '#feed';
import { pause } from '#platform';
import { MAX_POLL_TOKEN_RETRY_PAUSE_MS, type UpstreamHealth } from '#upstream';
import { ClaimedContactReads, type ClaimedReadParts } from './claimed-contact-reads.js';
import { RunningReads } from './running-reads.js';

/**
 * Maximum number of concurrent reads in one worker. Upstream may take seconds to answer, and each read keeps the
 * messages of at least one page in memory, and those of several pages if they are committed together.
 */
const MAX_READS = 256;
/**
 * If an account's next contact is due within this time, in milliseconds, the loop of the account waits for the
 * contact. Otherwise the loop ends, and the agenda starts a loop again, which takes longer.
 */
const MAX_WAIT_MS = 1_000;
/** Maximum time after which the loop looks for a free slot, or for a due contact, without a wake-up, in milliseconds. */
const RECHECK_MS = 250;
/**
 * Time after a claim that found no token of the budget in which the budget counts as the limit of the account's polls,
 * in milliseconds.
 */
const BUDGET_LIMITED_MS = 2 * MAX_POLL_TOKEN_RETRY_PAUSE_MS;
/** Maximum number of contacts that a loop claims in one step. */
const MAX_CLAIMS = 64;
/** Lifetime of the cached account settings and outage state, in milliseconds. */
const ACCOUNT_CACHE_MS = 250;

/** The claim loop of one account. It ends when no contact is due; reads that it has started may end later. */
interface ClaimLoop {
  isRunning: boolean;
  /** Resolves at the end of the loop. */
  ended: Promise<void>;
  /** Number of running reads of the account. */
  reading: number;
  /** Aborted by a wake-up. Replaced before the loop checks for work, which covers all earlier wake-ups. */
  wakeUp: AbortController;
  /**
   * Callers that wait for the end of the loop, and schedule the account themselves. Each is called with the time
   * until the next contact is due in milliseconds, or undefined if unknown. A caller that stops waiting must remove
   * its function, because a loop may run for weeks.
   */
  waiting: Set<(nextDueInMs: number | undefined) => void>;
  /** When a claim last found no token of the budget, by `performance.now()`. */
  lackedTokenAt: number;
  /** Next due time from the end of the last read. Cleared by a claim or a wake-up. */
  nextDue?: NextDueTime;
}

/** Dependencies of the poller. */
export interface PollerParts extends ClaimedReadParts {
  queue: PollQueue;
  agenda: PollAgenda;
  accounts: Pick<AccountDirectory, 'find'>;
  health: Pick<UpstreamHealth, 'outage'>;
}

/**
 * Reads the due contacts. Each worker has one claim loop per account. The loop claims a token together with
 * the most urgent due contact, starts the read without waiting for its end, and claims again. No contact is
 * therefore claimed before its request can be made, and a crash of the worker loses only its running reads.
 */
export class Poller {
  /** The loop of each account whose loop or reads run. */
  private readonly loops = new Map<string, ClaimLoop>();
  private readonly reads: RunningReads;
  private readonly claimed: ClaimedContactReads;
  private readonly stopping = new AbortController();

  constructor(
    private readonly parts: PollerParts,
    maxReads = MAX_READS,
  ) {
    this.reads = new RunningReads(maxReads, parts.queue, parts.logger);
    this.claimed = new ClaimedContactReads(parts, this.reads, this.stopping.signal);
    // The loop of each account that waits for a token listens to this signal. Node.js reports more than ten listeners
    // as a possible memory leak.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Checks an account that may have due contacts. */
  check(account: string): void {
    if (!this.isStopping()) this.wake(account);
  }

  /**
   * Calls {@link check} and waits until no contact is due and no read is running. Returns the time until the
   * next contact is due in milliseconds, and does not write to the agenda. Returns undefined if the wait
   * exceeds `patienceMs` or the time is not known.
   */
  async checkAndWait(account: string, patienceMs: number): Promise<number | undefined> {
    if (this.isStopping()) return undefined;
    const loop = this.wake(account);
    const patience = new AbortController();
    let nextDueInMs: number | undefined;
    const end = (inMs: number | undefined): void => {
      nextDueInMs = inMs;
      patience.abort();
    };
    loop.waiting.add(end);
    await pause(patienceMs, patience.signal);
    loop.waiting.delete(end);
    return nextDueInMs;
  }

  /**
   * Returns true if the loop of the account runs in this worker and has lately waited for the budget. Other workers could
   * then not read more contacts.
   */
  isLimitedByBudget(account: string): boolean {
    const loop = this.loops.get(account);
    return loop?.isRunning === true && performance.now() - loop.lackedTokenAt < BUDGET_LIMITED_MS;
  }

  /** Wakes the loop of the account, which starts if it does not run. */
  private wake(account: string): ClaimLoop {
    const loop: ClaimLoop = this.loops.get(account) ?? {
      isRunning: false,
      ended: Promise.resolve(),
      reading: 0,
      wakeUp: new AbortController(),
      waiting: new Set(),
      lackedTokenAt: -Infinity,
    };
    delete loop.nextDue;
    loop.wakeUp.abort();
    if (!loop.isRunning) {
      this.loops.set(account, loop);
      loop.isRunning = true;
      loop.ended = this.runLoop(account, loop);
    }
    return loop;
  }

  /** Stops claiming contacts. Running reads end after their current request. */
  stop(): void {
    this.stopping.abort();
    for (const { wakeUp } of this.loops.values()) wakeUp.abort();
    this.reads.endAll();
  }

  /** Resolves when no loop and no read is running. */
  async ended(): Promise<void> {
    await Promise.all([...this.loops.values()].map(({ ended }) => ended));
    await this.reads.ended();
  }

  private async runLoop(account: string, loop: ClaimLoop): Promise<void> {
    let nextDueInMs: number | undefined;
    try {
      nextDueInMs = await this.claimUntilIdle(account, loop);
    } catch (error) {
      if (!(error instanceof AccountNotFoundError))
        this.parts.logger.warn(
          { account, err: error },
          'could not select a contact to poll; the worker tries again at the next wake-up job or periodic task of the account',
        );
    }
    loop.isRunning = false;
    if (loop.reading === 0) this.loops.delete(account);
    for (const end of loop.waiting) end(nextDueInMs);
    loop.waiting.clear();
  }

  /** Claims contacts until none is due. Returns the time until the next contact is due, in milliseconds. */
  private async claimUntilIdle(account: string, loop: ClaimLoop): Promise<number | undefined> {
    let [rate, knownAt, claims] = [0, -Infinity, 1];
    while (!this.isStopping()) {
      if (performance.now() - knownAt > ACCOUNT_CACHE_MS) {
        const found = await this.parts.accounts.find(account);
        // While upstream is unavailable, reads would only fail. Due contacts stay due.
        if (found?.polling !== true || (await this.parts.health.outage(account)) !== undefined)
          return undefined;
        [rate, knownAt] = [found.requestsPerSecond, performance.now()];
      }
      if (this.isStopping()) return undefined;
      forgetWakeUps(loop);
      const { nextDue } = loop;
      delete loop.nextDue;
      const isIdle = nextDue?.nextDueInMs !== undefined && nextDue.nextDueInMs > 0;
      const step = isIdle
        ? { reply: nextDue, foundAll: false }
        : await this.reads.whileClaiming(loop.reading, claims, (count) =>
            this.claimAndBegin(account, loop, rate, count),
          );
      if (step === undefined) {
        await this.waitForSlot(loop);
        continue;
      }
      const { reply, foundAll } = step;
      // As long as every claim finds a contact, the next claims are twice as many.
      claims = foundAll ? Math.min(2 * claims, MAX_CLAIMS) : 1;
      if ('waitMs' in reply) {
        loop.lackedTokenAt = performance.now();
        await pause(Math.min(reply.waitMs, MAX_POLL_TOKEN_RETRY_PAUSE_MS), this.stopping.signal);
      } else if (!(await this.waitForDue(account, loop, reply))) return reply.nextDueInMs;
    }
    return undefined;
  }

  /** Waits until the account may start a read, without requests to Redis. */
  private async waitForSlot(loop: ClaimLoop): Promise<void> {
    while (!this.isStopping() && this.reads.freeSlots(loop.reading) < 1) {
      // A read that ends wakes the loop of its account. The pause covers slots freed by other accounts.
      forgetWakeUps(loop);
      await pause(RECHECK_MS, loop.wakeUp.signal);
      // Other reads that end in the same turn of the event loop free their slots too.
      await nextTurn();
    }
  }

  /**
   * Claims up to `count` contacts in one step, and begins their reads. Returns whether every claim found a contact,
   * and the reply that says how to go on.
   */
  private async claimAndBegin(
    account: string,
    loop: ClaimLoop,
    rate: number,
    count: number,
  ): Promise<{ reply: ClaimReply; foundAll: boolean }> {
    const calls = Array.from({ length: count }, () => this.parts.queue.claim(account, rate));
    const replies = await Promise.all(calls);
    const claimed = replies.filter((reply) => 'claimed' in reply);
    loop.reading += claimed.length;
    for (const claim of claimed)
      void this.claimed.start(account, rate, claim).then((next) => {
        this.readEnded(account, loop, next);
      });
    return { reply: replies.at(-1) ?? {}, foundAll: claimed.length === count };
  }

  /**
   * Waits until a contact may be due. Returns false if the loop should end: the agenda or the waiting caller
   * then schedules the account.
   */
  private async waitForDue(
    account: string,
    { wakeUp: { signal }, waiting, reading }: ClaimLoop,
    { nextDueAt, nextDueInMs }: NextDueTime,
  ): Promise<boolean> {
    if (signal.aborted) return true;
    // The end of a running read is a wake-up. If this worker dies before the read ends, the account's round finds the
    // due contacts.
    if (reading > 0 || (nextDueInMs !== undefined && nextDueInMs <= MAX_WAIT_MS)) {
      if (nextDueInMs !== 0) await pause(nextDueInMs ?? RECHECK_MS, signal);
      return true;
    }
    if (nextDueAt !== undefined && waiting.size === 0) this.parts.agenda.announceDue(account, nextDueAt);
    // A wake-up that arrived meanwhile would otherwise be lost with the loop.
    return signal.aborted;
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Wakes the loop of the account: the contact may be due again soon, or its slot serves another contact. */
  private readEnded(account: string, loop: ClaimLoop, next: NextDueTime): void {
    loop.reading -= 1;
    // A wake-up may concern a contact that is not covered by the reply to the end of this read.
    if (!loop.isRunning || loop.wakeUp.signal.aborted || this.isStopping()) {
      this.check(account);
      return;
    }
    loop.nextDue = next;
    loop.wakeUp.abort();
  }
}

function forgetWakeUps(loop: ClaimLoop): void {
  if (loop.wakeUp.signal.aborted) loop.wakeUp = new AbortController();
}
