import { pause } from '#platform';

/** What was hinted to one who looks again and again. */
export class Hints {
  private hinted = false;
  private waking = new AbortController();

  /** @param stop ends every pause */
  constructor(private readonly stop: AbortSignal) {}

  hint(): void {
    this.hinted = true;
    this.waking.abort();
  }

  /** Before a look: what was hinted so far is seen by it. */
  clear(): void {
    this.hinted = false;
    if (this.waking.signal.aborted) this.waking = new AbortController();
  }

  /** Whether something was hinted since. */
  came(): boolean {
    return this.hinted;
  }

  /** Resolves after so many milliseconds, or with the next hint. */
  async rest(ms: number): Promise<void> {
    await pause(ms, AbortSignal.any([this.waking.signal, this.stop]));
  }
}
