import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startTidings } from '../support/command-line.js';
import { eventually } from '../support/eventually.js';
import type { Command } from '../support/process.js';

/** Stands in for the gateway. */
let server: Server;
/** The paths of the requests that it got. */
let paths: string[];
let answer: RequestListener;

beforeEach(async () => {
  paths = [];
  server = createServer((request, response) => {
    paths.push(request.url ?? '');
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function start(...parameters: string[]): Command {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return startTidings(parameters, { TIDINGS_URL: url, TIDINGS_API_KEY: 'key' });
}

/** Stops reading the output of a command after its first line, as `| head -1` does. */
async function readFirstLine({ child }: Command): Promise<void> {
  if (child.stdout === null) throw new Error('the output is not a pipe');
  await once(child.stdout, 'data');
  child.stdout.destroy();
  await once(child.stdout, 'close');
}

const EVENT = JSON.stringify({
  ...{ id: 'evt_1', type: 'message.received', timestamp: '2026-01-01T00:00:00.000Z', sequence: 1 },
  ...{ contactId: 'con_1', data: {} },
});

/** Answers like a gateway whose event log has the cursor `c1`. */
const withEvents: RequestListener = ({ url = '' }, response) => {
  if (!url.includes('/stream')) response.end('{"events":[],"next":"c1","hasMore":false}');
  else response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1000\n\n');
};

describe('a command whose output nobody reads any more', () => {
  it('finishes its work if it changes something, and exits with the code of its outcome', async () => {
    let resume: () => void = () => undefined;
    answer = (_, response) => {
      const go = (): unknown => response.writeHead(paths.length === 4 ? 404 : 200).end('{}');
      if (paths.length === 2) resume = go;
      else go();
    };
    const retrying = start('retry', 'dlv_1', 'dlv_2', 'dlv_3', 'dlv_4', 'dlv_5');
    await readFirstLine(retrying);
    await eventually('the second delivery is retried', () => paths.length === 2);
    resume();
    expect((await retrying.ended).code).toBe(1);
    expect(paths.at(-1)).toBe('/v1/deliveries/dlv_5/retry');
    expect(paths).toHaveLength(5);
  });

  it('ends with code 0 if it only reads', async () => {
    answer = ({ url = '' }, response) => {
      const status = { readiness: { status: 'ok' } };
      const list = { sends: [{ id: 'snd_1' }], next: 'c' };
      response.end(JSON.stringify(url.includes('status') ? status : list));
    };
    for (const parameters of [
      ['--json', 'sends', '--limit', '100000'],
      ['--json', 'status', '--watch', '--interval', '1'],
    ]) {
      const reading = start(...parameters);
      await readFirstLine(reading);
      expect((await reading.ended).code).toBe(0);
    }
  });

  it('says where to continue if it follows events', async () => {
    let seen = 0;
    answer = (request, response) => {
      withEvents(request, response);
      if (!(request.url ?? '').includes('/stream')) return;
      const timer = setInterval(() => {
        seen += 1;
        response.write(`id: c${seen + 1}\nevent: message.received\ndata: ${EVENT}\n\n`);
      }, 20);
      response.on('close', () => {
        clearInterval(timer);
      });
    };
    const following = start('events', '--follow');
    await readFirstLine(following);
    expect(await following.ended).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/Continue with --after c\d/),
    });
  });
});

describe('a command that a signal ends', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)(
    'says where to continue and exits with the code of the signal, even if %s comes twice, as from npm or timeout',
    async (signal, code) => {
      answer = withEvents;
      for (const parameters of [
        ['events', '--follow'],
        ['listen', '--forward', 'http://127.0.0.1:9/'],
      ]) {
        paths = [];
        const following = start(...parameters);
        await eventually('it follows the events', () => paths.some((path) => path.includes('/stream')));
        following.child.kill(signal);
        following.child.kill(signal);
        expect(await following.ended).toMatchObject({
          code,
          stderr: expect.stringContaining('Continue with --after c1'),
        });
      }
    },
  );
});
