/** A token bucket in real time. It has room for the tokens of one second. */
export class RateLimit {
  #tokens = Number.POSITIVE_INFINITY;
  #last = performance.now();

  /** Takes a token. Returns false if the bucket is empty. */
  take(perSecond: number): boolean {
    const now = performance.now();
    this.#tokens = Math.min(perSecond, this.#tokens + ((now - this.#last) / 1_000) * perSecond);
    this.#last = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
