import type { FeedStore } from '../feed-store.js';

/** Time for which requests are collected before they are written together, in milliseconds. */
const COLLECT_MS = 10;
/** Maximum number of phone numbers in one write. If there are more, they are written at once. */
const MAX_NUMBERS = 200;

/** Phone numbers of one account whose contacts are to be polled soon. */
interface Batch {
  numbers: Set<string>;
  written: Promise<void>;
  write: () => void;
}

/** Requests earlier polls of the contacts of phone numbers. Requests that are made soon after each other share a write. */
export class PollExpediter {
  private readonly batches = new Map<string, Batch>();

  constructor(
    private readonly store: Pick<FeedStore, 'expediteRecipients'>,
    private readonly withinMs: number,
  ) {}

  /** Resolves when the request is written. */
  expedite(account: string, phoneNumber: string): Promise<void> {
    const batch = this.batches.get(account) ?? this.open(account);
    batch.numbers.add(phoneNumber);
    if (batch.numbers.size >= MAX_NUMBERS) batch.write();
    return batch.written;
  }

  private open(account: string): Batch {
    const numbers = new Set<string>();
    let write = (): void => undefined;
    const written = new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        write();
      }, COLLECT_MS);
      write = (): void => {
        clearTimeout(timer);
        // Later requests belong to the next batch.
        if (this.batches.get(account)?.numbers === numbers) this.batches.delete(account);
        resolve(this.store.expediteRecipients(account, [...numbers], this.withinMs).then(() => undefined));
      };
    });
    const batch = { numbers, written, write };
    this.batches.set(account, batch);
    return batch;
  }
}
