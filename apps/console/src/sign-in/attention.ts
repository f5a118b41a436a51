/** Headers of a request that no user caused. The gateway does not count the request as use of the session. */
export const UNATTENDED = { 'X-Tidings-Unattended': '1' } as const;

/** Time after an input for which the user counts as present, in milliseconds. */
const PRESENT_MS = 60_000;

/** The inputs that show that the page is in use. */
const INPUTS = ['pointermove', 'pointerdown', 'keydown', 'wheel', 'touchstart'] as const;

/**
 * Notices whether somebody uses the page. Pages repeat reads by themselves. Without this class, a page that nobody
 * looks at would keep its session alive.
 */
export class Attention {
  private lastInputAt: number;

  /** @param page the window, which receives the inputs */
  constructor(
    page: Pick<EventTarget, 'addEventListener'>,
    private readonly now: () => number = Date.now,
  ) {
    this.lastInputAt = now();
    this.watch(page);
  }

  /**
   * Also notices the inputs of another page.
   * @param page the window of a frame, which does not pass its inputs on to the console
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
