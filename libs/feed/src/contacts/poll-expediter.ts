import type { FeedStore } from '../feed-store.js';

/**
 * Requests to expedite polls are collected for this many milliseconds. Then they are written to Redis together.
 */
const COLLECT_MS = 10;
/** Maximum number of phone numbers in one write. When a batch contains this many, it is written at once. */
const MAX_NUMBERS = 200;

/** Requests for one account that are written together: the phone numbers of the contacts to be polled soon. */
interface Batch {
  numbers: Set<string>;
  written: Promise<void>;
  write: () => void;
}

/**
 * Expedites polls of contacts, which callers identify by phone number. All requests for an account within
 * {@link COLLECT_MS} are written together, at most {@link MAX_NUMBERS} phone numbers at a time.
 */
export class PollExpediter {
  private readonly batches = new Map<string, Batch>();

  constructor(
    private readonly store: Pick<FeedStore, 'expeditePollsOfRecipients'>,
    private readonly withinMs: number,
  ) {}

  /** Requests an early poll of the contact with this phone number. Resolves when the request is stored. */
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
        // The batch is complete. The next call of `expedite` opens a new batch.
        if (this.batches.get(account)?.numbers === numbers) this.batches.delete(account);
        resolve(
          this.store.expeditePollsOfRecipients(account, [...numbers], this.withinMs).then(() => undefined),
        );
      };
    });
    const batch = { numbers, written, write };
    this.batches.set(account, batch);
    return batch;
  }
}
