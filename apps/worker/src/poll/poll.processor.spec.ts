import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Job } from 'bullmq';
import { createLogger, type QueuePayloads } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { PollProcessor } from './poll.processor.js';

const A = 'default';
const LOGGER = createLogger('test', 'silent');

/** Contacts that are due, and polls that last until they are told to end. */
class DueContacts {
  readonly begun: string[] = [];
  account = { id: A, requestsPerSecond: 100, polling: true };
  held = false;
  private readonly ends = new Map<string, (error?: Error) => void>();

  constructor(readonly due: string[]) {}

  worker(): PollProcessor {
    return new PollProcessor(
      {
        poll: (_, contactId) => {
          this.begun.push(contactId);
          return new Promise((resolve, reject) => {
            this.ends.set(contactId, (error) => {
              if (error === undefined) resolve(true);
              else reject(error);
            });
          });
        },
      },
      {
        claimDue: (_, count) => Promise.resolve(this.due.splice(0, count)),
        postpone: () => Promise.resolve(),
      },
      { find: () => Promise.resolve(this.account as never) },
      { isHeld: () => Promise.resolve(this.held) },
      LOGGER,
    );
  }

  endAll(): void {
    this.due.length = 0;
    for (const contactId of this.begun) this.end(contactId);
  }

  end(contactId: string, error?: Error): void {
    this.ends.get(contactId)?.(error);
  }
}

const hint = (worker: PollProcessor): Promise<void> =>
  worker.process({ data: { account: A } } as Job<QueuePayloads['poll']>);

/** All that is going to happen by itself has happened. */
const quiet = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
};

let contacts: DueContacts;

beforeEach(() => {
  contacts = new DueContacts(Array.from({ length: 40 }, (_, n) => `c_${n}`));
});

afterEach(() => {
  contacts.endAll();
});

describe('a worker that is hinted at an account with contacts that are due', () => {
  it('takes up as many as it has slots for and leaves the others to other workers', async () => {
    await hint(contacts.worker());
    await quiet();
    expect(contacts.begun).toHaveLength(16);
    expect(contacts.due).toHaveLength(24);
    await hint(contacts.worker());
    await quiet();
    expect(contacts.begun).toHaveLength(32);
  });

  it('takes up the next one when a poll has ended, whether it failed or not, until nothing is due', async () => {
    await hint(contacts.worker());
    await eventually('all are polled', () => {
      contacts.begun.forEach((contactId, n) => {
        contacts.end(contactId, n % 2 === 0 ? undefined : new Error('broken'));
      });
      return contacts.begun.length === 40;
    });
  });

  it('takes up no more than two seconds of a small budget', async () => {
    contacts.account.requestsPerSecond = 1;
    await hint(contacts.worker());
    await quiet();
    expect(contacts.begun).toEqual(['c_0', 'c_1']);
  });

  it.each([
    ['upstream is away', () => (contacts.held = true)],
    ['the account is not polled', () => (contacts.account.polling = false)],
  ])('takes up nothing while %s', async (_, turn) => {
    turn();
    await hint(contacts.worker());
    await quiet();
    expect(contacts.due).toHaveLength(40);
  });

  it('takes up nothing more once it is told to stop', async () => {
    const worker = contacts.worker();
    Object.assign(worker, { _worker: { pause: () => Promise.resolve() } });
    await hint(worker);
    await quiet();
    await worker.onModuleDestroy();
    for (const contactId of contacts.begun) contacts.end(contactId);
    await hint(worker);
    await worker.beforeApplicationShutdown();
    await quiet();
    expect(contacts.begun).toHaveLength(16);
  });
});
