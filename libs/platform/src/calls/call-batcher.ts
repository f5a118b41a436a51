/** A call that waits for its batch. */
interface WaitingCall<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Joins the calls that are made with the same key in the same turn of the event loop into batches. A batch costs one
 * round trip instead of many. A batch runs at the end of the turn, or as soon as it is full, so no call waits for a
 * timer.
 */
export class CallBatcher<Item, Result> {
  private readonly waiting = new Map<string, WaitingCall<Item, Result>[]>();

  /**
   * @param run runs a batch of calls with the same key; returns one result for each item, in the same order
   * @param maxItems maximum number of items in a batch; further calls go into another batch
   */
  constructor(
    private readonly run: (key: string, items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly maxItems: number,
  ) {}

  /** Adds a call to the next batch of this key. Resolves to the result of the call; rejects if the batch fails. */
  call(key: string, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const call = { item, resolve, reject };
      const batch = this.waiting.get(key);
      if (batch !== undefined) {
        batch.push(call);
        if (batch.length >= this.maxItems) this.flush(key);
        return;
      }
      this.waiting.set(key, [call]);
      setImmediate(() => {
        this.flush(key);
      });
    });
  }

  private flush(key: string): void {
    const batch = this.waiting.get(key);
    if (batch === undefined) return;
    this.waiting.delete(key);
    this.run(
      key,
      batch.map(({ item }) => item),
    ).then(
      (results) => {
        for (const [index, { resolve, reject }] of batch.entries()) {
          if (index < results.length) resolve(results[index] as Result);
          else reject(new Error('a batch has no result for one of its calls'));
        }
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
  }
}
