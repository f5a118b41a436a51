import { pause } from '#platform';

/** Remembers hints for a loop, and ends the loop's pause when a hint arrives. */
export class Hints {
  private hinted = false;
  private waking = new AbortController();

  hint(): void {
    this.hinted = true;
    this.waking.abort();
  }

  /**
   * Forgets the hints so far. The loop calls this before it checks for work, which covers all earlier hints.
   */
  clear(): void {
    this.hinted = false;
    if (this.waking.signal.aborted) this.waking = new AbortController();
  }

  /** Returns true if a hint has arrived since the last {@link clear}. */
  hasHint(): boolean {
    return this.hinted;
  }

  /** Pauses for the given number of milliseconds or until the next hint. */
  async pause(ms: number): Promise<void> {
    await pause(ms, this.waking.signal);
  }
}
