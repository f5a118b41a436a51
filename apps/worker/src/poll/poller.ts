import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AccountNotFoundError, type AccountDirectory } from '#accounts';
import type { ClaimReply, NextDueTime, PollAgenda, PollQueue } from '#feed';
import { pause } from '#platform';
import { MAX_BUDGET_TOKEN_RETRY_PAUSE_MS, type UpstreamHealth } from '#upstream';
import { ClaimedContactReads, type ClaimedReadParts } from './claimed-contact-reads.js';
import { LoopWakeUps } from './loop-wake-ups.js';
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
/** Maximum number of contacts that a loop claims in one step. */
const MAX_CLAIMS = 64;
/** Lifetime of the cached account settings and outage state, in milliseconds. */
const ACCOUNT_CACHE_MS = 250;

/** The claim loop of one account. It ends when no contact is due. */
interface ClaimLoop {
  wakeUps: LoopWakeUps;
  /**
   * Callers that wait for the end of the loop, and schedule the account themselves. Each is called with the time
   * until the next contact is due in milliseconds, or undefined if unknown. A caller that stops waiting must remove
   * its function, because a loop may run for weeks.
   */
  waiting: Set<(nextDueInMs: number | undefined) => void>;
  /** Next due time from the end of the last read. Cleared by a claim or a wake-up. */
  nextDue?: NextDueTime;
  /** Resolves at the end of the loop. */
  ended: Promise<void>;
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
    if (this.isStopping()) return;
    const loop = this.loopOf(account);
    delete loop.nextDue;
    loop.wakeUps.wake();
  }

  /**
   * Calls {@link check} and waits until no contact is due and no read is running. Returns the time until the
   * next contact is due in milliseconds, and does not write to the agenda. Returns undefined if the wait
   * exceeds `patienceMs` or the time is not known.
   */
  async checkAndWait(account: string, patienceMs: number): Promise<number | undefined> {
    if (this.isStopping()) return undefined;
    const loop = this.loopOf(account);
    delete loop.nextDue;
    loop.wakeUps.wake();
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

  private loopOf(account: string): ClaimLoop {
    const existing = this.loops.get(account);
    if (existing !== undefined) return existing;
    const loop: ClaimLoop = {
      wakeUps: new LoopWakeUps(),
      waiting: new Set(),
      ended: Promise.resolve(),
    };
    this.loops.set(account, loop);
    loop.ended = this.runLoop(account, loop).then((nextDueInMs) => {
      this.loops.delete(account);
      for (const end of loop.waiting) end(nextDueInMs);
    });
    return loop;
  }

  /** Stops claiming contacts. Running reads end after their current request. */
  stop(): void {
    this.stopping.abort();
    for (const { wakeUps } of this.loops.values()) wakeUps.wake();
    this.reads.endAll();
  }

  /** Resolves when no loop and no read is running. */
  async ended(): Promise<void> {
    await Promise.all([...this.loops.values()].map(({ ended }) => ended));
    await this.reads.ended();
  }

  private async runLoop(account: string, loop: ClaimLoop): Promise<number | undefined> {
    try {
      return await this.claimUntilIdle(account, loop);
    } catch (error) {
      if (!(error instanceof AccountNotFoundError))
        this.parts.logger.warn(
          { account, err: error },
          'could not select a contact to poll; the worker tries again at the next wake-up job of the account',
        );
      return undefined;
    }
  }

  /** Claims contacts until none is due. Returns the time until the next contact is due, in milliseconds. */
  private async claimUntilIdle(account: string, loop: ClaimLoop): Promise<number | undefined> {
    const { wakeUps } = loop;
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
      wakeUps.clear();
      const slots = this.reads.freeSlots(account);
      if (slots < 1) {
        await this.waitForSlot(account, wakeUps);
        continue;
      }
      const { nextDue } = loop;
      delete loop.nextDue;
      const isIdle = nextDue?.nextDueInMs !== undefined && nextDue.nextDueInMs > 0;
      const wanted = Math.min(claims, slots);
      const { reply, count } = isIdle
        ? { reply: nextDue, count: 0 }
        : await this.reads.whileClaiming(wanted, () => this.claimAndBegin(account, rate, wanted));
      // As long as every claim finds a contact, the next claims are twice as many.
      claims = count === wanted ? Math.min(2 * claims, MAX_CLAIMS) : 1;
      if ('waitMs' in reply)
        await pause(Math.min(reply.waitMs, MAX_BUDGET_TOKEN_RETRY_PAUSE_MS), this.stopping.signal);
      else if (!(await this.waitForDue(account, loop, reply))) return reply.nextDueInMs;
    }
    return undefined;
  }

  /** Waits until the account may start a read, without requests to Redis. */
  private async waitForSlot(account: string, wakeUps: LoopWakeUps): Promise<void> {
    do {
      // A read that ends wakes the loop of its account. The pause covers slots freed by other accounts.
      wakeUps.clear();
      await wakeUps.pause(MAX_BUDGET_TOKEN_RETRY_PAUSE_MS);
      // Other reads that end in the same turn of the event loop free their slots too.
      await nextTurn();
    } while (!this.isStopping() && this.reads.freeSlots(account) < 1);
  }

  /**
   * Claims up to `count` contacts in one step, and begins their reads. Returns the number of contacts that were
   * claimed, and the reply that says how to go on.
   */
  private async claimAndBegin(
    account: string,
    rate: number,
    count: number,
  ): Promise<{ reply: ClaimReply; count: number }> {
    const calls = Array.from({ length: count }, () => this.parts.queue.claim(account, rate));
    const replies = await Promise.all(calls);
    const claimed = replies.filter((reply) => 'claimed' in reply);
    for (const claim of claimed)
      void this.claimed.start(account, rate, claim).then((next) => {
        this.readEnded(account, next);
      });
    return { reply: replies.at(-1) ?? {}, count: claimed.length };
  }

  /**
   * Waits until a contact may be due. Returns false if the loop should end: the agenda or the waiting caller
   * then schedules the account.
   */
  private async waitForDue(
    account: string,
    { wakeUps, waiting }: ClaimLoop,
    { nextDueAt, nextDueInMs }: NextDueTime,
  ): Promise<boolean> {
    if (wakeUps.hasWakeUp()) return true;
    const isReading = this.reads.has(account);
    // The end of a running read is a wake-up. If this worker dies before the read ends, the account's round finds the due
    // contacts.
    if (isReading || (nextDueInMs !== undefined && nextDueInMs <= MAX_WAIT_MS)) {
      if (nextDueInMs !== 0) await wakeUps.pause(nextDueInMs ?? MAX_BUDGET_TOKEN_RETRY_PAUSE_MS);
      return true;
    }
    if (nextDueAt !== undefined && waiting.size === 0) this.parts.agenda.announceDue(account, nextDueAt);
    // A wake-up that arrived meanwhile would otherwise be lost with the loop.
    return wakeUps.hasWakeUp();
  }

  private isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Wakes the loop of the account: the contact may be due again soon, or its slot serves another contact. */
  private readEnded(account: string, next: NextDueTime): void {
    const loop = this.loops.get(account);
    // A wake-up may concern a contact that is not covered by the reply to the end of this read.
    if (loop === undefined || loop.wakeUps.hasWakeUp() || this.isStopping()) {
      this.check(account);
      return;
    }
    loop.nextDue = next;
    loop.wakeUps.wake();
  }
}
