import { pause } from '#platform';

/** Remembers wake-ups of a loop, and ends the loop's pause when one arrives. */
export class LoopWakeUps {
  private isWoken = false;
  private waking = new AbortController();

  wake(): void {
    this.isWoken = true;
    this.waking.abort();
  }

  /** Forgets the wake-ups so far. The loop calls this before it checks for work, which covers all earlier ones. */
  clear(): void {
    this.isWoken = false;
    if (this.waking.signal.aborted) this.waking = new AbortController();
  }

  /** Returns true if a wake-up has arrived since the last {@link clear}. */
  hasWakeUp(): boolean {
    return this.isWoken;
  }

  /** Pauses for the given number of milliseconds or until the next wake-up. */
  async pause(ms: number): Promise<void> {
    await pause(ms, this.waking.signal);
  }
}
