import { beforeAll, describe, expect, it } from '@jest/globals';
import { type TroubleOutcome, runTroubleTrial } from './failing-pages-trial.js';

/**
 * Index of the failing message, counted from the newest message: on the second page, and on the first page.
 */
const ON_SECOND_PAGE = 25;
const ON_FIRST_PAGE = 3;
/** Index of a message after the failing message, on the last page. */
const ON_LAST_PAGE = 40;
const REPORTED_WITHIN_MS = 5_000;

const worst = (delays: readonly (number | undefined)[]): number =>
  Math.max(...delays.map((delay) => delay ?? Infinity));

describe('a message that causes an upstream error for each page that contains the message', () => {
  const CONTACTS = ['healthy', 'deep', 'from the start', 'at the head'] as const;
  const FAILING = ['deep', 'from the start', 'at the head'] as const;
  let outcome: TroubleOutcome<(typeof CONTACTS)[number]>;
  let editedIds: string[];

  beforeAll(async () => {
    outcome = await runTroubleTrial({
      contacts: CONTACTS,
      before: (world) => ({ failingMessageIds: [world['from the start'].messages[ON_SECOND_PAGE]] }),
      then: (world) => ({
        failingMessageIds: [
          world['from the start'].messages[ON_SECOND_PAGE],
          world.deep.messages[ON_SECOND_PAGE],
          world['at the head'].messages[ON_FIRST_PAGE],
        ],
      }),
      midway: async (fleet, world) => {
        editedIds = FAILING.map((name) => world[name].messages[ON_LAST_PAGE] ?? '');
        for (const id of editedIds) await fleet.simulate('messages/edit', { id, message: 'Edited' });
      },
    });
    const { status, of, complaints } = outcome;
    process.stdout.write(`Failing elements: ${JSON.stringify({ of, ...status })}\n${complaints}\n`);
  }, 180_000);

  it.each(FAILING)('delays no new message of the contact by more than 5 s (case: %s)', (name) => {
    expect(outcome.of[name].delays.length).toBeGreaterThan(5);
    expect(worst(outcome.of[name].delays)).toBeLessThanOrEqual(REPORTED_WITHIN_MS);
  });

  it.each(FAILING)('increases the number of requests for the contact by at most 20 % (case: %s)', (name) => {
    expect(outcome.of[name].requests / outcome.of.healthy.requests).toBeLessThanOrEqual(1.2);
  });

  it('does not stop the sweep of the contact: changes of older messages are still reported', () => {
    expect(outcome.emitted.get('message.updated')?.toSorted()).toEqual(editedIds.toSorted());
  });

  it('is counted once as a skipped message in the status of the account, and upstream is not reported as down', () => {
    expect(outcome.status.poller.skipped).toBe(FAILING.length);
    expect(outcome.status.upstream.state).toBe('up');
    expect(outcome.emitted.has('upstream.unavailable')).toBe(false);
  });

  it('is never reported as deleted', () => {
    expect(outcome.emitted.has('message.deleted')).toBe(false);
  });
});

describe('a message or contact whose JSON is nested 4,000 levels deep', () => {
  it('neither delays other messages nor prevents reads of the contact list', async () => {
    const { of, status, emitted } = await runTroubleTrial({
      contacts: ['healthy', 'with a nested message', 'nested itself'],
      before: (world) => ({
        deepField: { levels: 4_000, ids: [world['with a nested message'].messages[2]] },
      }),
      then: (world) => ({
        deepField: {
          levels: 4_000,
          ids: [world['with a nested message'].messages[2], world['nested itself'].id],
        },
      }),
      midway: async (fleet) => {
        await fleet.simulate('contacts', { phoneNumber: '+15559990000', id: 'con_late' });
      },
    });
    process.stdout.write(`Nested deeply: ${JSON.stringify({ of, ...status })}\n`);
    expect(worst(of.healthy.delays)).toBeLessThanOrEqual(REPORTED_WITHIN_MS);
    expect(worst(of['with a nested message'].delays)).toBeLessThanOrEqual(REPORTED_WITHIN_MS);
    // The contact list is still read: a contact that appears later is reported.
    expect(emitted.get('contact.created')).toEqual(['con_late']);
    expect(status.poller.unreadable).toBeGreaterThanOrEqual(1);
    expect(emitted.has('message.deleted')).toBe(false);
  }, 180_000);
});

describe('a contact whose message pages never end', () => {
  it.each([
    ['with the same messages at each read', false],
    ['with different messages at each read', true],
  ])(
    'neither exhausts the memory of the worker nor delays new messages of this or another contact (%s)',
    async (_, fresh) => {
      const { of, heapGrowth, status } = await runTroubleTrial({
        contacts: ['healthy', 'endless'],
        then: (world) => ({ endlessPages: { contactId: world.endless.id, fresh } }),
      });
      const megabytes = Math.round(heapGrowth / 1_000_000);
      process.stdout.write(`Pages without an end: ${JSON.stringify({ of, megabytes, ...status })}\n`);
      expect(worst([...of.healthy.delays, ...of.endless.delays])).toBeLessThanOrEqual(REPORTED_WITHIN_MS);
      expect(megabytes).toBeLessThanOrEqual(40);
    },
    180_000,
  );
});
