import { UpstreamReplyDeferredError } from '../upstream-error.js';

/** Somebody who waits for a place. */
interface Waiting {
  owner: string;
  enter: () => void;
}

/**
 * Bounds how many large replies this process holds while they are read, over all accounts. Of one owner half as many: an
 * upstream that lets large replies drip keeps nobody else's out.
 */
export class LargeReplies {
  private readonly held = new Map<string, number>();
  private count = 0;
  private readonly waiting = new Set<Waiting>();

  constructor(private readonly max: number) {}

  /**
   * Resolves when there is a place, to what gives it back.
   * @throws {UpstreamReplyDeferredError} when there is none within `patienceMs`
   */
  async enter(owner: string, patienceMs: number): Promise<() => void> {
    if (!this.hasPlace(owner)) await this.wait(owner, patienceMs);
    else this.take(owner);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.leave(owner);
    };
  }

  private wait(owner: string, patienceMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const one: Waiting = {
        owner,
        enter: () => {
          clearTimeout(timer);
          this.waiting.delete(one);
          this.take(owner);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.waiting.delete(one);
        reject(new UpstreamReplyDeferredError());
      }, patienceMs);
      this.waiting.add(one);
    });
  }

  private hasPlace(owner: string): boolean {
    return this.count < this.max && (this.held.get(owner) ?? 0) < this.max / 2;
  }

  private take(owner: string): void {
    this.count += 1;
    this.held.set(owner, (this.held.get(owner) ?? 0) + 1);
  }

  private leave(owner: string): void {
    this.count -= 1;
    const left = (this.held.get(owner) ?? 0) - 1;
    if (left > 0) this.held.set(owner, left);
    else this.held.delete(owner);
    // Whoever has waited longest of those who may.
    for (const one of this.waiting) {
      if (this.hasPlace(one.owner)) one.enter();
    }
  }
}
