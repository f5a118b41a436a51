/** A token bucket in real time; it holds as many requests as the rate allows in one second. */
export class RateLimit {
  #tokens = Number.POSITIVE_INFINITY;
  #last = performance.now();

  take(perSecond: number): boolean {
    const now = performance.now();
    this.#tokens = Math.min(perSecond, this.#tokens + ((now - this.#last) / 1_000) * perSecond);
    this.#last = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
