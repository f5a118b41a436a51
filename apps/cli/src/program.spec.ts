import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createProgram } from './program.js';

/** Stands in for the gateway. */
let server: Server;
/** The requests that it got. */
let requests: { path: string; body: unknown }[];

beforeEach(async () => {
  requests = [];
  server = createServer((request, response) => {
    void (async () => {
      requests.push({ path: request.url ?? '', body: await bodyOf(request) });
      response.end('{}');
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  return request.headers['content-length'] === undefined ? undefined : await json(request);
}

interface Printed {
  stdout: string;
  stderr: string;
}

/** Runs a command in this process. @throws what the command throws */
async function run(...parameters: string[]): Promise<Printed> {
  const printed: Printed = { stdout: '', stderr: '' };
  const { port } = server.address() as AddressInfo;
  const program = createProgram(
    {
      stdin: process.stdin,
      stdout: { write: (text) => (printed.stdout += text) },
      stderr: { write: (text) => (printed.stderr += text) },
      environment: {
        HOME: '/nonexistent',
        TIDINGS_URL: `http://127.0.0.1:${port}`,
        TIDINGS_API_KEY: 'key',
      },
      signal: new AbortController().signal,
      setExitCode: () => undefined,
    },
    '0.0.0',
  );
  await program.parseAsync(['node', 'tidings', ...parameters]);
  return printed;
}

describe('a command with a time to come', () => {
  it.each([
    ['--send-at', ['send', '+15551230001', 'Hello', '--send-at', '9']],
    ['--expires-at', ['send', '+15551230001', 'Hello', '--expires-at', '30m']],
    ['--expires-at', ['keys', 'create', 'a key', '--scopes', 'admin', '--expires-at', '30d']],
  ])('rejects an age or a number as %s, and makes no request', async (option, parameters) => {
    await expect(run(...parameters)).rejects.toThrow(`${option}: ${parameters.at(-1) ?? ''} is not a time`);
    expect(requests).toEqual([]);
  });
});
