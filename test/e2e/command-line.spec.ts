import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Delivery, Event, QueuedSend, Send, Webhook } from '#client';
import { jsonLines, reaching, runTidings, runTidingsInside, startTidings } from '../support/command-line.js';
import { eventually } from '../support/eventually.js';
import { type Command, startCommand } from '../support/process.js';
import { Product } from '../support/product.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const NUMBER = '+15551230001';
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

let product: Product;
let folder: string;

beforeAll(async () => {
  product = await Product.start({ WEBHOOK_RETRY_SCHEDULE_SECONDS: '1' });
  folder = await mkdtemp(join(tmpdir(), 'tidings-command-line-'));
});
afterAll(async () => {
  await product[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a command in this process. Tests of how the process itself starts and ends use `runTidings`. */
async function run(...parameters: string[]): ReturnType<typeof runTidings> {
  return await runTidingsInside(parameters, reaching(product));
}

async function json<T>(...parameters: string[]): Promise<T[]> {
  return jsonLines<T>(await run('--json', ...parameters));
}

/** Ends a command like Ctrl-C, and returns what it printed. */
async function interrupted(
  command: Command,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  command.child.kill('SIGINT');
  return await command.ended;
}

/** Returns what a running command has printed until now. */
function outputOf({ child }: Command): () => string {
  let printed = '';
  child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  return () => printed;
}

describe('tidings login', () => {
  const home = (): Record<string, string> => ({ XDG_CONFIG_HOME: folder });
  const signIn = (key: string): Promise<{ code: number | null; stdout: string; stderr: string }> =>
    startCommand('sh', ['-c', `printf %s "$KEY" | ${process.execPath} dist/cli.js --url "$URL" login`], {
      ...home(),
      KEY: key,
      URL: `http://127.0.0.1:${product.gateway.port}`,
    }).ended;

  it('stores a valid API key in a file that only the user can read, and does not store an invalid key', async () => {
    const path = join(folder, 'tidings/profiles.json');
    expect(await signIn('tk_not-a-key')).toMatchObject({ code: 3 });
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await signIn(product.apiKey)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('account default'),
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toContain(product.apiKey);

    const listed = await runTidingsInside(['profiles'], home());
    expect(listed.stdout).toContain('default');
    expect(listed.stdout).not.toContain(product.apiKey);
    expect(await runTidings(['sends'], home())).toMatchObject({ code: 0 });
    // The stored key belongs to the stored address.
    expect(await runTidingsInside(['--url', 'http://127.0.0.1:9', 'sends'], home())).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('there is no API key for http://127.0.0.1:9'),
    });
    expect(await runTidingsInside(['logout'], home())).toMatchObject({ code: 0 });
    expect(await runTidingsInside(['sends'], home())).toMatchObject({ code: 3 });
  });

  it('uses TIDINGS_URL and TIDINGS_PROFILE, and stores a key with any scope', async () => {
    const { key } = await product.json<{ key: string }>('POST', '/v1/api-keys', {
      account: 'default',
      name: 'of a service',
      scopes: ['messages:send'],
    });
    const staging = {
      ...home(),
      TIDINGS_PROFILE: 'staging',
      TIDINGS_URL: `http://127.0.0.1:${product.gateway.port}`,
    };
    const signedIn = startCommand('sh', ['-c', `printf %s "$KEY" | ${process.execPath} dist/cli.js login`], {
      ...staging,
      KEY: key,
    });
    expect(await signedIn.ended).toMatchObject({ code: 0 });
    const listed = await runTidingsInside(['--json', 'profiles'], home());
    expect(listed.stdout).toContain('"name":"staging"');
    expect(await runTidingsInside(['logout'], staging)).toMatchObject({ code: 0 });
    expect((await runTidingsInside(['--json', 'profiles'], home())).stdout).not.toContain('staging');
  });
});

describe('the command tidings', () => {
  it('sends a text and a file, waits for the delivery, and shows the send', async () => {
    const file = join(folder, 'note.txt');
    await writeFile(file, 'a note');
    const [send] = await json<Send>(
      'send',
      NUMBER,
      'Hello',
      '--file',
      file,
      '--reference',
      'cli-1',
      '--wait',
    );
    expect(send).toMatchObject({ status: 'delivered', reference: 'cli-1', file: { name: 'note.txt' } });
    expect(await json<Send>('sends', '--reference', 'cli-1')).toMatchObject([{ id: send?.id }]);
    const shown = await run('sends', 'show', String(send?.id));
    expect(shown.stdout).toMatch(/status +delivered/);
    const messages = await run('messages', String(send?.contactId));
    expect(messages.stdout).toContain('Hello');
  });

  it('names the stored send if the user presses Ctrl-C while the command waits', async () => {
    const waiting = startTidings(
      ['--json', 'send', NUMBER, 'Wait', '--reference', 'cli-wait', '--wait', 'read'],
      reaching(product),
    );
    const find = async (): Promise<Send | undefined> =>
      (await json<Send>('sends', '--reference', 'cli-wait'))[0];
    await eventually('the send is delivered', async () => (await find())?.status === 'delivered');
    const { code, stdout, stderr } = await interrupted(waiting);
    expect([code, stdout]).toEqual([130, '']);
    expect(JSON.parse(stderr)).toMatchObject({ sendId: (await find())?.id });
  });

  it('names the idempotency key of the send if the user presses Ctrl-C before the gateway has replied', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    try {
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      const waiting = startTidings(['--json', '--url', url, 'send', NUMBER, 'Hello'], reaching(product));
      const [request] = (await once(silent, 'request')) as [{ headers: Record<string, string> }];
      const { code, stderr } = await interrupted(waiting);
      expect([code, JSON.parse(stderr)]).toEqual([
        130,
        expect.objectContaining({ idempotencyKey: request.headers['idempotency-key'] }),
      ]);
    } finally {
      silent.closeAllConnections();
      silent.close();
    }
  });

  it('names the idempotency key of a send whose first attempt got no answer, even if the next attempt was rejected', async () => {
    const keys: unknown[] = [];
    const failing = createServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      if (keys.length === 1) request.socket.destroy();
      else response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(failing, 'listening');
    try {
      const url = `http://127.0.0.1:${(failing.address() as AddressInfo).port}`;
      const { code, stderr } = await runTidings(
        ['--json', '--url', url, 'send', NUMBER, 'Hello'],
        reaching(product),
      );
      expect([code, JSON.parse(stderr)]).toEqual([1, expect.objectContaining({ idempotencyKey: keys[0] })]);
      expect(keys).toEqual([keys[0], keys[0]]);
    } finally {
      failing.closeAllConnections();
      failing.close();
    }
  });

  it('sends a text from standard input unchanged even if the bytes of a character arrive in two parts', async () => {
    const script = `{ printf 'Caf\\303'; sleep 0.3; printf '\\251'; } | ${process.execPath} dist/cli.js send "$NUMBER" -`;
    const { code } = await startCommand('sh', ['-c', script], { ...reaching(product), NUMBER }).ended;
    expect(code).toBe(0);
    await eventually('the text is relayed', async () => (await product.texts()).includes('Café'));
  });

  it('exits with code 2 if a required option of `tidings trigger` is missing', async () => {
    expect(await runTidings(['trigger', 'message.read'], reaching(product))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--contact'),
    });
  });

  it('exits with code 1 if its output cannot be written, because the output may contain a new API key', async () => {
    const full = `${process.execPath} dist/cli.js --json status > /dev/full`;
    const { code, stderr } = await startCommand('sh', ['-c', full], reaching(product)).ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('the output cannot be written')]);
  });

  it('sends a text only once if the command is repeated with the same idempotency key', async () => {
    const send = (): Promise<QueuedSend[]> =>
      json<QueuedSend>('send', NUMBER, 'Only once', '--idempotency-key', 'cli-once');
    const [[first], [second]] = [await send(), await send()];
    expect(second?.id).toBe(first?.id);
  });

  it('cancels a scheduled send', async () => {
    const [queued] = await json<QueuedSend>('send', NUMBER, 'Later', '--send-at', '2100-01-01T00:00:00Z');
    const id = String(queued?.id);
    expect(await json<Send>('sends', 'cancel', id)).toMatchObject([{ status: 'cancelled' }]);
    expect(await run('sends', 'cancel', id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cancelled'),
    });
  });

  it('prints new events as they arrive, and can later continue after the cursor that it printed', async () => {
    const following = startTidings(['events', '--follow', '--types', 'message.received'], reaching(product));
    const printed = outputOf(following);
    await eventually('the first event is printed', async () => {
      // The stream begins at the time of its first connection.
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'Hello you' });
      return printed().includes('Hello you');
    });
    const { code, stderr } = await interrupted(following);
    expect(code).toBe(130);
    const cursor = /Continue with --after (\S+)/.exec(stderr)?.[1];
    await product.simulate('messages', { phoneNumber: NUMBER, text: 'One more' });
    const seen = await eventually('the next event is listed', async () => {
      const events = await json<Event>(
        'events',
        '--after',
        String(cursor),
        '--types',
        'message.received',
        '--limit',
        '100',
      );
      return events.some((event) => JSON.stringify(event).includes('One more')) && events;
    });
    expect(await json<Event>('events', 'show', String(seen[0]?.id))).toMatchObject([{ id: seen[0]?.id }]);
  });

  it('creates, tests, changes and deletes a webhook, lists failed deliveries, and retries and replays deliveries', async () => {
    let status = 500;
    const receiver: Server = createServer((_request, response) =>
      response.writeHead(status).end('no'),
    ).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    try {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      const [webhook] = await json<Webhook & { secret: string }>(
        'webhooks',
        'create',
        url,
        '--types',
        'send.*',
      );
      const id = String(webhook?.id);
      product.canaries.addSecret('the signing secret', webhook?.secret);
      const tests = await json<{ deliveryId: string }>('webhooks', 'test', id);
      const failed = await eventually(
        'the delivery failed for good',
        async () =>
          (await json<Delivery>('deliveries', '--failed', '--since', '1h', '--webhook', id))[0] ?? false,
        40_000,
      );
      expect(failed).toMatchObject({ id: tests[0]?.deliveryId, status: 'failed' });
      expect((await run('deliveries', 'show', failed.id)).stdout).toMatch(/statusCode +500/);
      expect((await run('webhooks')).stdout).toContain('failing since');
      status = 204;
      expect(await run('retry', failed.id)).toMatchObject({ code: 0 });
      await eventually(
        'the retry succeeds',
        async () => (await json<Delivery>('deliveries', 'show', failed.id))[0]?.status === 'succeeded',
      );
      const counted = await run('replay', id, '--since', '1h', '--only', 'all', '--dry-run');
      expect(counted).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^\d+ events would be delivered/),
      });
      expect(
        (await json<Delivery>('deliveries', 'list', '--event', failed.eventId)).map(
          ({ webhookId }) => webhookId,
        ),
      ).toContain(id);
      expect(await json('replay', id, '--since', '1h', '--only', 'all')).toMatchObject([
        { count: expect.any(Number) },
      ]);
      const [rotated] = await json<{ secret: string }>('webhooks', 'rotate', id, '--overlap', '60');
      product.canaries.addSecret('the new signing secret', rotated?.secret);
      expect(rotated?.secret).not.toBe(webhook?.secret);
      expect(await json<Webhook>('webhooks', 'disable', id)).toMatchObject([{ enabled: false }]);
      expect(
        await json<Webhook>('webhooks', 'update', id, '--new-url', `${url}new`, '--ordered', 'on'),
      ).toMatchObject([{ url: `${url}new`, ordered: true }]);
      expect(await run('webhooks', 'delete', id)).toMatchObject({ code: 0 });
    } finally {
      receiver.close();
    }
  });

  it('creates and revokes an API key, and reads the upstream key of a new account from standard input', async () => {
    const [created] = await json<{ id: string; key: string }>(
      'keys',
      'create',
      'of a test',
      '--scopes',
      'messages:read',
    );
    product.canaries.addSecret('the created key', created?.key);
    const limited = { ...reaching(product), TIDINGS_API_KEY: String(created?.key) };
    expect(await runTidingsInside(['send', NUMBER, 'Not allowed'], limited)).toMatchObject({ code: 3 });
    expect(await run('keys', 'revoke', String(created?.id))).toMatchObject({ code: 0 });
    expect(await runTidingsInside(['sends'], limited)).toMatchObject({ code: 3 });

    const upstream = `http://127.0.0.1:${product.simulator.port}/v1`;
    const account = await startCommand(
      'sh',
      [
        '-c',
        `printf %s "$KEY" | ${process.execPath} dist/cli.js --json accounts create second --base-url ${upstream} --polling off`,
      ],
      { ...reaching(product), KEY: product.upstreamKey },
    ).ended;
    expect(jsonLines(account)).toMatchObject([{ id: 'second', polling: false }]);
    expect((await run('accounts')).stdout).toContain('second');
    expect(await run('accounts', 'delete', 'second')).toMatchObject({ code: 0 });
  });

  it('shows the status, and exits with code 0 if no problem is found', async () => {
    const status = await eventually('all is well', async () => {
      const shown = await run('status');
      return shown.code === 0 && shown;
    });
    expect(status.stdout).toMatch(/State +ok/);
  });

  it('replaces control characters in the text of a message', async () => {
    const cleared = 'before\u001b[2J\u009b31m\u202eafter';
    await run('send', NUMBER, cleared, '--reference', 'control');
    const { stdout } = await run('sends', '--reference', 'control');
    expect(stdout).toContain('before\ufffd[2J\ufffd31m\ufffdafter');
    expect((await run('--json', 'sends', '--reference', 'control')).stdout).not.toMatch(
      /[\u0000-\u0009\u007f-\u009f]/,
    );
  });

  it.each([
    ['an unknown command', ['sendd'], 2, /unknown command.*send/s],
    ['an unknown option', ['sends', '--stat', 'x'], 2, /unknown option '--stat'/],
    ['an invalid value', ['sends', '--limit', '0'], 2, /whole number from 1/],
    [
      'a rate that is not a number',
      ['accounts', 'create', 'second', '--base-url', 'http://127.0.0.1:9', '--requests-per-second', 'many'],
      2,
      /number above 0/,
    ],
    ['an invalid time', ['deliveries', '--since', 'yesterday'], 2, /--since: yesterday is neither/],
    ['a request that the gateway rejects', ['send', '12', 'Hello'], 1, /phoneNumber/],
    ['something that does not exist', ['sends', 'show', 'snd_none'], 1, /not found|no send/i],
  ])(
    'explains %s on standard error and exits with the documented code',
    async (_name, parameters, code, words) => {
      const outcome = await run(...parameters);
      expect(outcome).toMatchObject({ code, stdout: '' });
      expect(outcome.stderr).toMatch(words);
    },
  );

  it('prints an error as JSON with --json', async () => {
    const rejected = await run('--json', 'send', '12', 'Hello');
    expect(JSON.parse(rejected.stderr)).toMatchObject({
      code: 'validation_failed',
      status: 400,
      fields: [{ field: 'phoneNumber' }],
    });
    const nowhere = await runTidings(['--json', 'accounts'], {
      ...reaching(product),
      TIDINGS_URL: 'http://127.0.0.1:9',
    });
    expect(nowhere.code).toBe(4);
    expect(JSON.parse(nowhere.stderr)).toMatchObject({ code: 'unreachable' });
  });

  it('writes a support bundle without secrets, message texts and phone numbers, and overwrites no existing file', async () => {
    await run('send', NUMBER, 'A text that stays private');
    const file = join(folder, 'bundle.json');
    const environment = {
      ...product.environment(),
      ...reaching(product),
      WORKER_PORT: String(product.worker.port),
      API_KEY: product.apiKey,
    };
    expect(await runTidings(['doctor', '--bundle', file], environment)).toMatchObject({ code: 0 });
    const text = await readFile(file, 'utf8');
    expect(product.canaries.leaksInLog('the bundle', text)).toEqual([]);
    expect(text).not.toContain('stays private');
    expect(text).not.toContain(NUMBER);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const bundle = JSON.parse(text) as Record<string, { status: number; body: unknown }>;
    expect(bundle).toMatchObject({
      configuration: {
        ENCRYPTION_KEY: '(set)',
        UPSTREAM_API_KEY: '(set)',
        WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
      },
      readiness: { status: 200, body: { status: 'ok' } },
      status: { status: 200, body: { account: 'default' } },
    });
    for (const metrics of [bundle['gatewayMetrics'], bundle['workerMetrics']])
      expect(JSON.stringify(metrics?.body)).toContain('tidings_build_info');

    const again = await runTidingsInside(['doctor', '--bundle', file], environment);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot write') });
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  it.each(['bash', 'zsh', 'fish'])('offers tab completion in the shell %s', async (shell) => {
    expect((await run('completion', shell)).stdout).toContain('tidings');
    expect((await run('complete', '--', 'web')).stdout).toContain('webhooks');
  });
});

describe('tidings listen', () => {
  it('forwards each event once, in order and with a valid signature, even if the gateway restarts', async () => {
    const { port } = product.gateway;
    const receiver = await WebhookReceiver.start(product.api);
    receiver.secret = SECRET;
    const listening = startTidings(['listen', '--forward', receiver.url, '--types', 'message.received'], {
      ...reaching(product),
      TIDINGS_WEBHOOK_SECRET: SECRET,
    });
    try {
      await eventually('it listens', async () => {
        await product.simulate('messages', { phoneNumber: NUMBER, text: 'Is anybody there?' });
        return receiver.events.length > 0;
      });
      const at = performance.now();
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'Typed now' });
      await eventually('the message is forwarded', () =>
        receiver.events.some((event) => JSON.stringify(event).includes('Typed now')),
      );
      expect(performance.now() - at).toBeLessThan(2_000);

      await product.gateway.stop();
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'While it was down {n}', count: 5 });
      await product.startGateway({ PORT: String(port) });
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'After it {n}', count: 5 });
      await eventually(
        'all are forwarded',
        () => JSON.stringify(receiver.events).match(/While it was down|After it/g)?.length === 10,
      );
      expect(receiver.duplicateIds()).toEqual([]);
      expect(receiver.invalidRequests).toEqual([]);
      const sequences = receiver.events.map(({ sequence }) => sequence);
      expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    } finally {
      const { stderr } = await interrupted(listening);
      expect(stderr).toMatch(/Continue with --after \S+/);
      await receiver[Symbol.asyncDispose]();
    }
  });

  it('rejects an invalid signing secret before it forwards any event', async () => {
    const environment = { ...reaching(product), TIDINGS_WEBHOOK_SECRET: 'not-a-secret' };
    const outcome = await runTidingsInside(['listen', '--forward', 'http://127.0.0.1:9/'], environment);
    expect(outcome).toMatchObject({ code: 2, stdout: '' });
    expect(outcome.stderr).toContain('TIDINGS_WEBHOOK_SECRET');
  });

  it('shows the response of the receiver, and waits until the receiver is running', async () => {
    const bodies: string[] = [];
    const receiver = createServer((request, response) => {
      void text(request).then((body) => {
        bodies.push(body);
        response.writeHead(500).end('\u001b[2Jbroken');
      });
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const { port } = receiver.address() as AddressInfo;
    await new Promise((closed) => receiver.close(closed));
    const listening = startTidings(
      ['listen', '--forward', `http://127.0.0.1:${port}/`, '--types', 'message.received'],
      reaching(product),
    );
    const printed = outputOf(listening);
    let complaint = '';
    listening.child.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
    await eventually('it waits for the receiver', async () => {
      await product.simulate('messages', { phoneNumber: NUMBER, text: 'Hello' });
      return complaint.includes('does not answer');
    });
    receiver.listen(port, '127.0.0.1');
    await eventually('the answer is shown', () => /500.*message\.received/s.test(printed()));
    await interrupted(listening);
    receiver.close();
    expect(printed()).toContain('\ufffd[2Jbroken');
    expect(printed()).toMatch(/Signing secret: whsec_/);
    expect(bodies.length).toBeGreaterThan(0);
  });
});
