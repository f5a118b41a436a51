/** Headers of a request that no reader caused. The gateway does not count it as use of the session. */
export const UNATTENDED = { 'X-Tidings-Unattended': '1' } as const;

/** Time after an input for which the reader counts as present, in milliseconds. */
const PRESENT_MS = 60_000;

/** What a reader does with a page. */
const INPUTS = ['pointermove', 'pointerdown', 'keydown', 'wheel', 'touchstart'] as const;

/**
 * Notices whether somebody uses the page. Pages read again by themselves; without this, a page that nobody looks at
 * would keep its session alive.
 */
export class Attention {
  private lastInputAt: number;

  /** @param page receives the inputs: the window */
  constructor(
    page: Pick<EventTarget, 'addEventListener'>,
    private readonly now: () => number = Date.now,
  ) {
    this.lastInputAt = now();
    this.watch(page);
  }

  /**
   * Also notices the inputs of another page.
   * @param page receives the inputs: the window of a frame, which does not pass its inputs on to the console
   */
  watch(page: Pick<EventTarget, 'addEventListener'>): void {
    for (const input of INPUTS)
      page.addEventListener(
        input,
        () => {
          this.lastInputAt = this.now();
        },
        { capture: true, passive: true },
      );
  }

  /** True if somebody uses the page. */
  get isPresent(): boolean {
    return this.now() - this.lastInputAt <= PRESENT_MS;
  }

  /** Returns the headers that mark a request that is made now. */
  get headers(): Record<string, string> {
    return this.isPresent ? {} : UNATTENDED;
  }
}
