import type { FastifyReply } from 'fastify';

/**
 * The exchanges that a fault keeps waiting. Each ends after a cap, when its client leaves, or at `releaseAll`, so
 * that nothing hangs longer than the simulator runs.
 */
export class HeldExchanges {
  readonly #ends = new Set<() => void>();

  /** How many are held now. */
  get size(): number {
    return this.#ends.size;
  }

  /** Never answers: the socket is dropped after `capMs`. */
  hang(reply: FastifyReply, capMs: number): void {
    reply.hijack();
    const { raw } = reply;
    const end = (): void => {
      clearTimeout(timer);
      this.#ends.delete(end);
      raw.destroy();
    };
    const timer = setTimeout(end, capMs);
    this.#ends.add(end);
    raw.once('close', end);
  }

  /** Waits; true when the time is over, false when it was cut short by `releaseAll`. */
  wait(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const finish = (whole: boolean): void => {
        clearTimeout(timer);
        this.#ends.delete(cut);
        resolve(whole);
      };
      const cut = (): void => {
        finish(false);
      };
      const timer = setTimeout(() => {
        finish(true);
      }, ms);
      this.#ends.add(cut);
    });
  }

  /** Ends them all, without an answer. */
  releaseAll(): void {
    for (const end of [...this.#ends]) end();
  }
}
