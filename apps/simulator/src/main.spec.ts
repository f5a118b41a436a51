import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from './testing/running-simulator.js';

const MAIN = join(import.meta.dirname, '../../../dist/simulator.js');
let folder: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-simulator-'));
});

afterEach(async () => {
  for (const child of children)
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  children.clear();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
}

function run(environment: Record<string, string>, ipc = false): Run {
  const env = { PATH: process.env['PATH'] ?? '', SIMULATOR_PORT: '0', ...environment };
  const child = spawn(process.execPath, [MAIN], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? ['ipc' as const] : [])],
  });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

async function urlOf({ output }: Run): Promise<string> {
  return eventually(() => /listening on (http:\S+)/.exec(output())?.[1]);
}

async function exitOf({ child }: Run): Promise<number | null> {
  if (child.exitCode === null) await once(child, 'exit');
  return child.exitCode;
}

const contactsAt = async (url: string): Promise<unknown> =>
  (await fetch(`${url}/v1/contacts`, { headers: { 'x-api-key': 'simulator-key' } })).json();

describe('the simulator process', () => {
  it('prints its address, and exits with status 0 soon after SIGTERM even if clients are connected', async () => {
    const simulator = run({});
    const url = await urlOf(simulator);
    const stream = await fetch(`${url}/_simulator/phone/stream`);
    const reading = stream.text().catch(() => 'cut');
    const began = performance.now();
    simulator.child.kill('SIGTERM');
    expect(await exitOf(simulator)).toBe(0);
    expect(performance.now() - began).toBeLessThan(2_000);
    await reading;
  });

  it('keeps its state over a restart, and fills a new state file with demo contacts', async () => {
    const environment = { SIMULATOR_STATE_FILE: join(folder, 'kept', 'state.json') };
    const first = run(environment);
    const before = await contactsAt(await urlOf(first));
    expect(before).toMatchObject({ contacts: [{ name: 'Ada Lovelace' }, {}, {}] });
    first.child.kill('SIGTERM');
    expect(await exitOf(first)).toBe(0);
    const second = run(environment);
    expect(await contactsAt(await urlOf(second))).toEqual(before);
  });

  it('saves its state soon after each change, so that a later SIGKILL loses nothing', async () => {
    const file = join(folder, 'killed.json');
    const first = run({ SIMULATOR_STATE_FILE: file });
    const url = await urlOf(first);
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/_simulator/contacts`, { method: 'POST', headers, body: '{"phoneNumber":"+15559"}' });
    await eventually(async () => (await readFile(file, 'utf8').catch(() => '')).includes('+15559'));
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    const contacts = JSON.stringify(await contactsAt(await urlOf(run({ SIMULATOR_STATE_FILE: file }))));
    expect(contacts).toContain('+15559');
  });

  it('exits with status 78 and one line if the state file is damaged, and does not change the file', async () => {
    const file = join(folder, 'damaged.json');
    await writeFile(file, '{"format":"simulator-state"\n');
    const simulator = run({ SIMULATOR_STATE_FILE: file });
    expect(await exitOf(simulator)).toBe(78);
    expect(simulator.output()).toMatch(/^SIMULATOR_STATE_FILE .*damaged.*\n$/);
    expect(await readFile(file, 'utf8')).toBe('{"format":"simulator-state"\n');
  });

  it('exits with status 78 and one line per invalid value', async () => {
    const simulator = run({ SIMULATOR_PORT: 'x', SIMULATOR_SEED: '-1' });
    expect(await exitOf(simulator)).toBe(78);
    expect(simulator.output().trim().split('\n')).toHaveLength(2);
  });

  it('exits with status 78 and names SIMULATOR_PORT if the port is in use', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const address = blocker.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    const simulator = run({ SIMULATOR_PORT: port });
    expect(await exitOf(simulator)).toBe(78);
    expect(simulator.output()).toMatch(/^SIMULATOR_PORT \d+ is already in use.*\n$/);
    blocker.close();
    await once(blocker, 'close');
  });

  it('reports its port to the parent process when ready, and stops when the parent disconnects', async () => {
    const simulator = run({}, true);
    const [message] = (await once(simulator.child, 'message')) as [unknown];
    expect(message).toEqual({ type: 'ready', port: expect.any(Number) });
    simulator.child.disconnect();
    expect(await exitOf(simulator)).toBe(0);
    expect(simulator.output()).toBe('');
  });
});
