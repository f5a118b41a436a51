import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DEFAULT_SETTINGS } from '../settings.js';
import type { RunningSimulator } from '../testing/running-simulator.js';
import { eventually, startSimulator } from '../testing/running-simulator.js';

let folder: string;
let stateFile: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simulator-state-'));
  stateFile = join(folder, 'state.json');
});

afterEach(async () => {
  for (const simulator of started.splice(0)) await simulator.stop();
  await rm(folder, { recursive: true, force: true });
});

const started: RunningSimulator[] = [];

async function start(settings = {}): Promise<RunningSimulator> {
  const simulator = await startSimulator({ stateFile, settings: { demo: false, ...settings } });
  started.push(simulator);
  return simulator;
}

/** Returns a function that checks whether the state file contains a text. */
const isSaved = (text: string) => async (): Promise<boolean> =>
  (await readFile(stateFile, 'utf8').catch(() => '')).includes(text);

/** Returns the state without fields that change on their own. */
function withoutTimes(state: object): object {
  const moving = new Set(['ledger', 'now', 'upstreamNow']);
  return Object.fromEntries(Object.entries(state).filter(([name]) => !moving.has(name)));
}

describe('the state file of the simulator', () => {
  it('restores messages, deletions, scheduled actions, settings, the random number generator and the ledger (the record of what happened)', async () => {
    const first = await start({ sendVisibleDelayMs: 100_000 });
    first.simulator.control('messages', { from: '+15551', count: 3 });
    first.simulator.control('settings', { order: 'oldestFirst', idType: 'number' });
    await first.send({ phoneNumber: '+15551', message: 'pending' });
    const { ids } = first.simulator.control('messages', { from: '+15551' }) as { ids: string[] };
    first.simulator.control('messages/delete', { ids });
    const before = withoutTimes(first.simulator.control('state'));
    const kinds = first.simulator.ledger.read({ kinds: ['message.*', 'send.*'] }).entries;
    await first.stop();
    const second = await start({ sendVisibleDelayMs: 100_000 });
    const after = withoutTimes(second.simulator.control('state'));
    expect(after).toEqual(before);
    expect(second.simulator.ledger.read({ kinds: ['message.*', 'send.*'] }).entries).toEqual(kinds);
  });

  it('restores a send to a known contact that was accepted and is not listed yet', async () => {
    const first = await start({ sendVisibleDelayMs: 100_000 });
    first.simulator.control('contacts', { phoneNumber: '+15551' });
    await eventually(isSaved('+15551'));
    await first.send({ phoneNumber: '+15551', message: 'pending' });
    await first.stop();
    const second = await start({ sendVisibleDelayMs: 100_000 });
    expect(second.simulator.control('state')).toMatchObject({
      contacts: [{ unlisted: [{ message: 'pending', state: 'pending' }] }],
      pending: [{ happening: { what: 'showMessage' } }, { happening: { what: 'deliver' } }],
    });
  });

  it('restores an upstream that was replaced and is still empty', async () => {
    const first = await start();
    first.simulator.control('contacts', { phoneNumber: '+15551' });
    await eventually(isSaved('+15551'));
    const shown = jest.fn();
    first.simulator.core.onChange(shown);
    first.simulator.control('upstream-replaced');
    expect(shown).toHaveBeenCalledWith({ of: 'world', contactId: null });
    await first.stop();
    const second = await start();
    expect(second.simulator.control('state')).toMatchObject({ contacts: [] });
  });

  it('restores the time of a manual clock that was advanced without a due action', async () => {
    const first = await start({ clock: 'manual' });
    await eventually(isSaved('manual'));
    const { now } = first.simulator.control('advance', { ms: 1_000 }) as { now: number };
    await first.stop();
    const second = await start({ clock: 'manual' });
    expect(second.simulator.control('state')).toMatchObject({ now });
  });

  it('restores actions that became due while the simulator was stopped, and these actions run at once', async () => {
    const first = await start({ sendVisibleDelayMs: 150 });
    await first.send({ phoneNumber: '+15551', message: 'due' });
    await first.stop();
    const due = first.simulator.core.world.timetable.nextDue ?? 0;
    await eventually(() => Date.now() >= due);
    const second = await start({ sendVisibleDelayMs: 150 });
    const [contact] = second.simulator.core.world.contacts.listed();
    expect(contact?.messages.map(({ text }) => text)).toEqual(['due']);
  });

  it('continues the numbering of ledger entries (records of what happened) even if a crash left an incomplete last line', async () => {
    const first = await start();
    first.simulator.control('messages', { from: '+15551', count: 3 });
    const { next } = first.simulator.ledger;
    await first.stop();
    const ledgerFile = `${stateFile}.ledger`;
    await writeFile(ledgerFile, `${await readFile(ledgerFile, 'utf8')}{"index":`);
    const second = await start();
    expect(second.simulator.ledger.next).toBe(next + 1);
    await second.stop();
    const third = await start();
    expect(third.simulator.ledger.next).toBe(next + 2);
  });

  it('keeps changed settings over a restart, unless the start settings differ from those of the last start', async () => {
    const first = await start({ limitCap: 10 });
    first.simulator.control('settings', { limitCap: 30 });
    await first.stop();
    const second = await start({ limitCap: 10 });
    expect(second.simulator.core.settings.limitCap).toBe(30);
    await second.stop();
    const third = await start({ limitCap: 50 });
    expect(third.simulator.core.settings.limitCap).toBe(50);
  });

  it('does not keep a start setting that the next start no longer has', async () => {
    const first = await start({ limitCap: 10 });
    await first.stop();
    const second = await start();
    expect(second.simulator.core.settings.limitCap).toBe(DEFAULT_SETTINGS.limitCap);
  });

  it.each([
    ['cut off', (text: string) => text.slice(0, -20)],
    ['without its last line', (text: string) => `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`],
    ['with an invalid contact line', (text: string) => text.replace('"phoneNumber":', '"phone":')],
    ['empty', () => ''],
  ])('is rejected and left unchanged if it is %s', async (_how, damage) => {
    const first = await start();
    first.simulator.control('messages', { from: '+15551' });
    await first.stop();
    const damaged = damage(await readFile(stateFile, 'utf8'));
    await writeFile(stateFile, damaged);
    await expect(start()).rejects.toThrow(/is damaged/);
    expect(await readFile(stateFile, 'utf8')).toBe(damaged);
  });
});
