import type { FastifyReply } from 'fastify';

/**
 * Exchanges that a fault delays or leaves without a reply. Each exchange ends after a maximum time, when its
 * client disconnects, or at `releaseAll`. No exchange therefore outlives the simulator.
 */
export class HeldExchanges {
  readonly #ends = new Set<() => void>();

  /** Number of exchanges that are held now. */
  get size(): number {
    return this.#ends.size;
  }

  /** Sends no reply. Closes the connection after `capMs` milliseconds. */
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

  /** Waits. Resolves with true after the full time, or false if `releaseAll` ended the wait. */
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

  /** Ends all held exchanges without a reply. */
  releaseAll(): void {
    for (const end of [...this.#ends]) end();
  }
}
