import { beforeAll, describe, expect, it } from '@jest/globals';
import { type TroubleOutcome, tryTrouble } from './failing-pages-trial.js';

/** Counting from the newest, from 0: on the second page, and on the first. */
const DEEP = 25;
const AT_THE_HEAD = 3;
/** Behind what fails, on the last page. */
const BEHIND = 40;
const TOLD_WITHIN_MS = 5_000;

const worst = (delays: readonly (number | undefined)[]): number =>
  Math.max(...delays.map((delay) => delay ?? Infinity));

describe('an element that upstream cannot serve', () => {
  const CONTACTS = ['healthy', 'deep', 'from the start', 'at the head'] as const;
  const FAILING = ['deep', 'from the start', 'at the head'] as const;
  let outcome: TroubleOutcome<(typeof CONTACTS)[number]>;
  let behind: string[];

  beforeAll(async () => {
    outcome = await tryTrouble({
      contacts: CONTACTS,
      before: (world) => ({ failingMessageIds: [world['from the start'].messages[DEEP]] }),
      then: (world) => ({
        failingMessageIds: [
          world['from the start'].messages[DEEP],
          world.deep.messages[DEEP],
          world['at the head'].messages[AT_THE_HEAD],
        ],
      }),
      midway: async (fleet, world) => {
        behind = FAILING.map((name) => world[name].messages[BEHIND] ?? '');
        for (const id of behind) await fleet.simulate('messages/edit', { id, message: 'Edited' });
      },
    });
    const { status, of, complaints } = outcome;
    process.stdout.write(`Failing elements: ${JSON.stringify({ of, ...status })}\n${complaints}\n`);
  }, 180_000);

  it.each(FAILING)('%s, keeps no new message of its contact from being told within 5 s', (name) => {
    expect(outcome.of[name].delays.length).toBeGreaterThan(5);
    expect(worst(outcome.of[name].delays)).toBeLessThanOrEqual(TOLD_WITHIN_MS);
  });

  it.each(FAILING)('%s, costs its contact at most 1.2 times a healthy one’s requests', (name) => {
    expect(outcome.of[name].requests / outcome.of.healthy.requests).toBeLessThanOrEqual(1.2);
  });

  it('does not end the sweep: what changes behind it is told', () => {
    expect(outcome.told.get('message.updated')?.toSorted()).toEqual(behind.toSorted());
  });

  it('is counted once in the status, and upstream is not taken for down', () => {
    expect(outcome.status.poller.skipped).toBe(FAILING.length);
    expect(outcome.status.upstream.state).toBe('up');
    expect(outcome.told.has('upstream.unavailable')).toBe(false);
  });

  it('is never told as deleted', () => {
    expect(outcome.told.has('message.deleted')).toBe(false);
  });
});

describe('an element nested 4,000 deep', () => {
  it('blocks nobody: neither its contact, nor the contact list', async () => {
    const { of, status, told } = await tryTrouble({
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
    expect(worst(of.healthy.delays)).toBeLessThanOrEqual(TOLD_WITHIN_MS);
    expect(worst(of['with a nested message'].delays)).toBeLessThanOrEqual(TOLD_WITHIN_MS);
    // The list goes on to be read: one that appears later is polled.
    expect(told.get('contact.created')).toEqual(['con_late']);
    expect(status.poller.unreadable).toBeGreaterThanOrEqual(1);
    expect(told.has('message.deleted')).toBe(false);
  }, 180_000);
});

describe('a contact whose pages never end', () => {
  it.each([
    ['the same at each read', false],
    ['others at each read', true],
  ])(
    '%s, takes neither the worker’s memory nor the others’ promptness',
    async (_, fresh) => {
      const { of, rss, rssBefore, status } = await tryTrouble({
        contacts: ['healthy', 'endless'],
        then: (world) => ({ endlessPages: { contactId: world.endless.id, fresh } }),
      });
      const megabytes = Math.round((rss - rssBefore) / 1_000_000);
      process.stdout.write(`Pages without an end: ${JSON.stringify({ of, megabytes, ...status })}\n`);
      expect(worst([...of.healthy.delays, ...of.endless.delays])).toBeLessThanOrEqual(TOLD_WITHIN_MS);
      expect(megabytes).toBeLessThanOrEqual(100);
    },
    180_000,
  );
});
