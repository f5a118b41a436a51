import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commandsOf, differences, type DocumentedCommand, type Names, renamed } from '../docs/commands.js';
import { read } from '../docs/pages.js';
import { eventually } from '../support/eventually.js';
import { ROOT } from '../support/process.js';
import { Product } from '../support/product.js';

let product: Product;
let directory: string;
let receiver: { port: number; close: () => void };

beforeEach(async () => {
  product = await Product.start();
  await mkdir(join(ROOT, '.data'), { recursive: true });
  directory = await mkdtemp(join(ROOT, '.data/documented-'));
  await writeFile(join(directory, 'photo.jpg'), 'GIF89a');
  const server: Server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver = { port: (server.address() as AddressInfo).port, close: () => server.close() };
}, 60_000);

afterEach(async () => {
  receiver.close();
  await rm(directory, { recursive: true, force: true });
  await product[Symbol.asyncDispose]();
});

/** Replaces the documented ports by the ports of this test run. */
function withActualPorts(words: string): string {
  const ports = { 3000: product.gateway.port, 4010: product.simulator.port, 8080: receiver.port };
  return words.replaceAll(/(127\.0\.0\.1:)(\d+)/g, (whole, host: string, port: string) =>
    port in ports ? `${host}${ports[port as unknown as keyof typeof ports]}` : whole,
  );
}

function withDocumentedPorts(words: string): string {
  return words.replaceAll(`127.0.0.1:${receiver.port}`, '127.0.0.1:8080');
}

async function run(command: string, variables: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn('bash', ['-c', command], {
    cwd: directory,
    env: { PATH: process.env.PATH, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return withDocumentedPorts(output);
}

/** True if the command only reads: such a command is repeated until its output is the documented one. */
function onlyReads(command: string): boolean {
  return !/ -(?:d|F|X) /.test(command);
}

class Session {
  readonly names: Names = new Map();
  private readonly variables: Record<string, string> = {};

  async perform({ command, output }: DocumentedCommand): Promise<void> {
    const given = /^export (\w+)=(.*)$/.exec(command);
    if (given !== null) {
      const [, name = '', value = ''] = given;
      this.variables[name] = name === 'KEY' ? product.apiKey : renamed(value, this.names);
      return;
    }
    const ours = withActualPorts(renamed(command, this.names));
    let found: string[] = [];
    const attempt = async (): Promise<boolean> => {
      const actual = await run(ours, this.variables);
      found = differences(output, actual, this.names);
      return found.length === 0;
    };
    if (onlyReads(command)) await eventually(ours, attempt, 20_000).catch(() => undefined);
    else await attempt();
    expect({ command, differences: found }).toEqual({ command, differences: [] });
  }
}

describe('each documented command prints the documented output', () => {
  it('in README.md, whose webhook receiver also prints the documented output', async () => {
    const page = read('README.md');
    const [subscribe, ...rest] = commandsOf(page).filter(({ command }) => command.startsWith('curl'));
    const session = new Session();
    await session.perform({ command: 'export KEY=', output: '' });
    receiver.close();
    if (subscribe !== undefined) await session.perform(subscribe);
    const secret = [...session.names.values()].find((name) => name.startsWith('whsec_')) ?? '';
    const [, program = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
    await writeFile(join(directory, 'receiver.mjs'), program.replace('8080', String(receiver.port)));
    const listener: ChildProcess = spawn(process.execPath, ['receiver.mjs', secret], { cwd: directory });
    let printed = '';
    listener.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    try {
      for (const command of rest) await session.perform(command);
      const contactId = [...session.names].find(([before]) => before.startsWith('con_'))?.[1];
      await product.simulate('typing', { contactId, message: 'Hello back from the phone' });
      const lines = (words: string): string[] =>
        words
          .split('\n')
          .filter((line) => line.includes(' evt_'))
          .map((line) => line.split(' ').slice(2).join(' '));
      const documented = lines(page.slice(page.indexOf('The receiver prints:')));
      expect(documented).toHaveLength(3);
      await eventually('the receiver prints all documented lines', () => lines(printed).length >= 3);
      expect(lines(printed)).toEqual(documented);
    } finally {
      listener.kill('SIGKILL');
    }
  });

  it('in docs/api-guide.md', async () => {
    const commands = commandsOf(read('docs/api-guide.md'));
    expect(commands.length).toBeGreaterThan(15);
    const session = new Session();
    for (const command of commands) await session.perform(command);
  });
});
