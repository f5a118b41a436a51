import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DynamicModule, INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { build } from 'esbuild';
import { type Event, signWebhook } from '#client';
import { findFreePort } from '#embedded-redis';
import { formatCursor } from '#events';
import { findProgram } from '../support/find-program.js';
import { eventually } from '../support/eventually.js';
import { ROOT } from '../support/process.js';
import { Product } from '../support/product.js';

const FOLDER = join(ROOT, 'test/examples');
const NUMBER = '+15551230001';

let product: Product;
/** In the checkout, where the packages of the examples are found. */
let folder: string;

beforeAll(async () => {
  product = await Product.start();
  await mkdir(join(ROOT, '.data'), { recursive: true });
  folder = await mkdtemp(join(ROOT, '.data/examples-'));
});
afterAll(async () => {
  await product[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Bundles an example, as its README says. Returns the path of the bundle. */
async function bundled(file: string): Promise<string> {
  const outfile = join(folder, `${file.replaceAll('/', '-')}.mjs`);
  await build({
    entryPoints: [join(FOLDER, file)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['@nestjs/*'],
    alias: { '@tidings/client': join(ROOT, 'libs/client/src/index.ts') },
    logLevel: 'silent',
  });
  return outfile;
}

interface Example {
  name: string;
  needs: string[];
  /** Returns the command that runs the example. */
  command: () => Promise<[string, ...string[]]>;
  isWebhook: boolean;
}

const EXAMPLES: Example[] = [
  {
    name: 'typescript/auto-responder.ts',
    needs: [],
    command: async () => [process.execPath, await bundled('typescript/auto-responder.ts')],
    isWebhook: true,
  },
  {
    name: 'python/auto_responder.py',
    needs: ['python3'],
    command: () => Promise.resolve(['python3', join(FOLDER, 'python/auto_responder.py')]),
    isWebhook: true,
  },
  {
    name: 'go/main.go',
    needs: ['go'],
    command: async () => {
      const program = join(folder, 'auto-responder-go');
      const environment = { ...process.env, GOFLAGS: '-mod=mod', CGO_ENABLED: '0' };
      await promisify(execFile)('go', ['build', '-o', program, '.'], {
        cwd: join(FOLDER, 'go'),
        env: environment,
      });
      return [program];
    },
    isWebhook: true,
  },
  {
    name: 'shell/auto-responder.sh',
    needs: ['bash', 'curl', 'jq'],
    command: () => Promise.resolve(['bash', join(FOLDER, 'shell/auto-responder.sh')]),
    isWebhook: false,
  },
];

describe('the example of an auto-responder', () => {
  for (const { name, needs, command, isWebhook } of EXAMPLES) {
    const missing = needs.filter((program) => findProgram(program) === undefined);
    if (missing.length > 0)
      process.stderr.write(`SKIPPED: ${name} is not tested without ${missing.join(', ')}\n`);
    (missing.length > 0 ? it.skip : it)(`in ${name} answers each message once`, async () => {
      const port = await findFreePort();
      let secret = '';
      let webhook: { id: string; secret: string } | undefined;
      if (isWebhook) {
        webhook = await product.json('POST', '/v1/webhooks', { url: `http://127.0.0.1:${port}/hook` });
        secret = webhook?.secret ?? '';
      }
      const [file, ...parameters] = await command();
      const cursorFile = join(folder, 'cursor');
      const example = spawn(file, parameters, {
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          HOME: folder,
          TIDINGS_URL: `http://127.0.0.1:${product.gateway.port}`,
          TIDINGS_API_KEY: product.apiKey,
          WEBHOOK_SECRET: secret,
          PORT: String(port),
          CURSOR_FILE: cursorFile,
        },
        // A group of its own, because a shell has children that would outlive it.
        detached: true,
      });
      let printed = '';
      for (const stream of [example.stdout, example.stderr])
        stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      try {
        await eventually('the example listens', () => printed.includes('Listening on'));
        const answers = async (text: string): Promise<number> =>
          (await product.texts()).filter((each) => each === `You wrote: ${text}`).length;
        const first = `Is this ${name}?`;
        // A webhook gets every event; the event stream only those after its connection, which begins with a cursor.
        if (!isWebhook) await eventually('the stream is open', () => existsSync(cursorFile));
        await product.simulate('messages', { phoneNumber: NUMBER, text: first });
        await eventually('the first message is answered', async () => (await answers(first)) > 0);
        await product.simulate('messages', { phoneNumber: NUMBER, text: `Second to ${name}` });
        await eventually(
          'the second message is answered',
          async () => (await answers(`Second to ${name}`)) > 0,
        );
        const { contacts } = await product.json<{ contacts: { id: string; phoneNumber: string }[] }>(
          'GET',
          '/v1/contacts',
        );
        const contactId = contacts.find(({ phoneNumber }) => phoneNumber === NUMBER)?.id ?? '';
        if (webhook !== undefined) {
          // A repeated delivery is not answered again. A request without a valid signature is refused.
          const { count } = await product.json<{ count: number }>(
            'POST',
            `/v1/webhooks/${webhook.id}/replay`,
            {
              since: new Date(Date.now() - 60_000).toISOString(),
              only: 'all',
            },
          );
          expect(count).toBeGreaterThan(0);
          await eventually(
            'the replay is delivered',
            async () =>
              (await product.json<{ pending: number }>('GET', `/v1/webhooks/${webhook.id}`)).pending === 0,
          );
          const hook = `http://127.0.0.1:${port}/hook`;
          expect((await fetch(hook, { method: 'POST', body: '{}' })).status).toBe(401);
          const hostile: Record<string, string>[] = [
            { 'webhook-timestamp': '²' },
            { 'webhook-timestamp': '9'.repeat(400) },
            { 'webhook-signature': 'v1,é' },
          ];
          for (const changes of hostile) {
            const headers = { ...(await signWebhook('{}', { id: 'evt_1', secret })), ...changes };
            expect((await fetch(hook, { method: 'POST', body: '{}', headers })).status).toBe(401);
          }
          // A program may close the connection instead, after which the event comes again, too.
          const headers = await signWebhook('no JSON', { id: 'evt_1', secret });
          const unreadable = fetch(hook, { method: 'POST', body: 'no JSON', headers });
          expect(await unreadable.then(({ ok }) => ok).catch(() => false)).toBe(false);
          const statusFor = async (contactId: string, message: object): Promise<number> => {
            const event = { id: 'evt_1', type: 'message.received', contactId, data: { message } };
            const body = JSON.stringify(event);
            const headers = await signWebhook(body, { id: event.id, secret });
            return (await fetch(hook, { method: 'POST', body, headers })).status;
          };
          // Another delivery would not help: the gateway does not know the contact.
          expect(await statusFor('con_none', { message: 'Hello' })).toBe(204);
          // A file without a text is not answered.
          expect(await statusFor(contactId, { message: null })).toBe(204);
          expect(await statusFor(contactId, {})).toBe(204);
        }
        // Events arrive in order, so that a second answer to the second message would come before this one.
        await product.simulate('messages', { phoneNumber: NUMBER, text: `Third to ${name}` });
        await eventually(
          'the third message is answered',
          async () => (await answers(`Third to ${name}`)) > 0,
        );
        expect(await answers(`Second to ${name}`)).toBe(1);
        expect((await product.texts()).filter((each) => /^You wrote: \W*(\w+)?$/.test(each))).toEqual([]);
      } finally {
        process.kill(-(example.pid ?? 0), 'SIGKILL');
        await once(example, 'close');
        if (webhook !== undefined) await product.call('DELETE', `/v1/webhooks/${webhook.id}`);
      }
    });
  }
});

const shell = EXAMPLES.find(({ isWebhook }) => !isWebhook);
const itWithShell =
  shell?.needs.every((program) => findProgram(program) !== undefined) === true ? it : it.skip;

itWithShell(
  'the auto-responder in shell stores its position in the stream even while no text arrives, so that the position does not expire',
  async () => {
    const [file, ...parameters] = (await shell?.command()) ?? [''];
    const cursorFile = join(folder, 'quiet-cursor');
    const { next } = await product.json<{ next: string }>('GET', '/v1/events?after=now');
    await writeFile(cursorFile, next);
    await product.call('POST', '/v1/messages/send', { phoneNumber: NUMBER, message: 'Not an answer' });
    const firstAfter = async (cursor: string): Promise<{ type: string } | undefined> => {
      const path = `/v1/events?types=message.sent&limit=1&after=${cursor}`;
      return (await product.json<{ events: { type: string }[] }>('GET', path)).events[0];
    };
    await eventually('the message is sent', async () => (await firstAfter(next)) !== undefined);
    const example = spawn(file, parameters, {
      env: {
        PATH: process.env.PATH,
        TIDINGS_URL: `http://127.0.0.1:${product.gateway.port}`,
        TIDINGS_API_KEY: product.apiKey,
        CURSOR_FILE: cursorFile,
      },
      detached: true,
      stdio: 'ignore',
    });
    try {
      await eventually('the stored position is after the event', async () => {
        const cursor = (await readFile(cursorFile, 'utf8')).trim();
        return !['', next].includes(cursor) && (await firstAfter(cursor)) === undefined;
      });
    } finally {
      process.kill(-(example.pid ?? 0), 'SIGKILL');
      await once(example, 'close');
    }
  },
);

itWithShell(
  'the auto-responder in shell ends and says what to do if the event log no longer has its cursor',
  async () => {
    const [file, ...parameters] = (await shell?.command()) ?? [''];
    const cursor = join(folder, 'expired-cursor');
    await writeFile(cursor, formatCursor({ epoch: 'another', position: '1-0' }));
    const ended = promisify(execFile)(file, parameters, {
      env: {
        PATH: process.env.PATH,
        TIDINGS_URL: `http://127.0.0.1:${product.gateway.port}`,
        TIDINGS_API_KEY: product.apiKey,
        CURSOR_FILE: cursor,
      },
      timeout: 30_000,
    });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`delete ${cursor}`),
    });
  },
);

/** What the example exports. Its sources belong to a TypeScript project of their own. */
interface NestExample {
  TidingsModule: {
    receiveAt(
      path: string,
      options: { secrets: string; handler: { handle(event: Event): Promise<void> } },
    ): DynamicModule;
  };
}

describe('the example of a NestJS module', () => {
  it('passes signed events to its handler, and returns 401 for other requests and 500 if the handler fails', async () => {
    const secret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`;
    const handled: Event[] = [];
    let fails = false;
    const url = pathToFileURL(await bundled('nest-subscriber/tidings.module.ts')).href;
    const { TidingsModule } = (await import(url)) as NestExample;
    const module = TidingsModule.receiveAt('hooks/tidings', {
      secrets: secret,
      handler: {
        handle: (event) => {
          if (fails) return Promise.reject(new Error('out of order'));
          handled.push(event);
          return Promise.resolve();
        },
      },
    });
    const app: INestApplication = await NestFactory.create(module, new FastifyAdapter(), {
      rawBody: true,
      logger: false,
    });
    try {
      await app.listen(0, '127.0.0.1');
      const hook = `${await app.getUrl()}/hooks/tidings`;
      const body = JSON.stringify({ id: 'evt_1', type: 'webhook.test', data: {} });
      const post = async (headers: Record<string, string>): Promise<number> =>
        (
          await fetch(hook, {
            method: 'POST',
            headers: { 'content-type': 'application/json', ...headers },
            body,
          })
        ).status;
      expect(await post(await signWebhook(body, { id: 'evt_1', secret }))).toBe(204);
      expect(handled).toMatchObject([{ id: 'evt_1' }]);
      expect(await post({})).toBe(401);
      expect(await post(await signWebhook(`${body} `, { id: 'evt_1', secret }))).toBe(401);
      fails = true;
      expect(await post(await signWebhook(body, { id: 'evt_1', secret }))).toBe(500);
    } finally {
      await app.close();
    }
  });
});

it('the examples in TypeScript have no type errors', async () => {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '--noEmit', '-p', FOLDER], { cwd: ROOT });
});
