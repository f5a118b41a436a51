import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createProgram } from './program.js';

/** Stands in for the gateway. */
let server: Server;
/** The requests that it got. */
let requests: { path: string; body: unknown }[];
/** What it answers; `{}` by default. */
let answer: RequestListener;

beforeEach(async () => {
  requests = [];
  answer = (_, response) => response.end('{}');
  server = createServer((request, response) => {
    void (async () => {
      requests.push({ path: request.url ?? '', body: await bodyOf(request) });
      answer(request, response);
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
  const body = await text(request);
  return body === '' ? undefined : (JSON.parse(body) as unknown);
}

interface Run {
  stdout: string;
  stderr: string;
  code: number;
}

/** Runs a command in this process. @throws what the command throws */
async function run(...parameters: string[]): Promise<Run> {
  return await runUntil(new AbortController().signal, ...parameters);
}

/** Runs a command until the signal aborts, as by Ctrl-C. */
async function runUntil(signal: AbortSignal, ...parameters: string[]): Promise<Run> {
  const printed: Run = { stdout: '', stderr: '', code: 0 };
  const { port } = server.address() as AddressInfo;
  const program = createProgram(
    {
      stdin: process.stdin,
      stdout: { write: (written) => (printed.stdout += written) },
      stderr: { write: (written) => (printed.stderr += written) },
      environment: {
        HOME: '/nonexistent',
        TIDINGS_URL: `http://127.0.0.1:${port}`,
        TIDINGS_API_KEY: 'key',
      },
      signal,
      setExitCode: (code) => {
        printed.code = code;
      },
    },
    '0.0.0',
  );
  await program.parseAsync(['node', 'tidings', ...parameters]);
  return printed;
}

describe('a command with an option for a future time', () => {
  it.each([
    ['--send-at', ['send', '+15551230001', 'Hello', '--send-at', '9']],
    ['--expires-at', ['send', '+15551230001', 'Hello', '--expires-at', '30m']],
    ['--expires-at', ['keys', 'create', 'a key', '--scopes', 'admin', '--expires-at', '30d']],
  ])(
    'rejects a number or a duration as the value of %s, and makes no request',
    async (option, parameters) => {
      await expect(run(...parameters)).rejects.toThrow(`${option}: ${parameters.at(-1) ?? ''} is not a time`);
      expect(requests).toEqual([]);
    },
  );
});

describe('a command with --json', () => {
  it('prints a JSON object with the delivery id and the error for each delivery that cannot be retried', async () => {
    answer = ({ url = '' }, response) => {
      const isKnown = url.includes('dlv_1');
      const problem = { code: 'not_found', detail: 'there is no such delivery', requestId: 'req_1' };
      response.writeHead(isKnown ? 200 : 404).end(JSON.stringify(isKnown ? { id: 'dlv_1' } : problem));
    };
    const { stdout, stderr, code } = await run('--json', 'retry', 'dlv_0', 'dlv_1');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({ id: 'dlv_1' });
    expect(JSON.parse(stderr)).toEqual({
      deliveryId: 'dlv_0',
      error: 'there is no such delivery',
      code: 'not_found',
      status: 404,
      requestId: 'req_1',
    });
  });

  it('prints the new signing secret to standard error and the events to standard output if the command is listen', async () => {
    const interrupt = new AbortController();
    answer = () => {
      interrupt.abort(new Error('interrupted'));
    };
    const forward = ['--forward', 'http://127.0.0.1:9/'];
    const { stdout, stderr } = await runUntil(interrupt.signal, '--json', 'listen', ...forward);
    expect(JSON.parse(stderr)).toEqual({ secret: expect.stringMatching(/^whsec_\S+$/) });
    expect(stdout).toBe('');
  });
});

describe('a limit of a webhook', () => {
  const rotate = ['webhooks', 'rotate', 'whk_1', '--overlap'];
  const update = ['webhooks', 'update', 'whk_1', '--rate-limit'];

  it.each([
    [rotate, '2592000', { overlapSeconds: 2_592_000 }],
    [update, '0.01', { rateLimitPerSecond: 0.01 }],
    [update, '10000', { rateLimitPerSecond: 10_000 }],
  ])('may be the minimum or maximum that the API accepts: %j %s', async (parameters, value, body) => {
    await run(...parameters, value);
    expect(requests.map((request) => request.body)).toEqual([body]);
  });

  it.each([
    [rotate, '2592001', 'a whole number from 0 to 2592000'],
    [update, '0.009', 'a number from 0.01 to 10000'],
    [update, '10001', 'a number from 0.01 to 10000'],
    [update, 'many', 'a number from 0.01 to 10000'],
  ])('is rejected without a request if the API would reject it: %j %s', async (parameters, value, rule) => {
    await expect(run(...parameters, value)).rejects.toThrow(rule);
    expect(requests).toEqual([]);
  });
});
