import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TidingsConnectionError } from '#client';
import { CommandFault } from './failure.js';
import { createProgram } from './program.js';
import { ProfileStore } from './settings/profile-store.js';

/** Test server that answers in place of the gateway or the simulator. */
let server: Server;
/** The requests that the test server received. */
let requests: { path: string; body: unknown }[];
let stdin: Readable;
/** Stream to which the command writes its questions. */
let questions: PassThrough;
/** The environment variables of the command. */
let environment: NodeJS.ProcessEnv;
/** Answers the requests to the test server. By default, answers that a send is stored. */
let answer: RequestListener;
/** What the last command printed, also if it failed. */
let printed: Run;

beforeEach(async () => {
  requests = [];
  stdin = Readable.from([]);
  questions = new PassThrough().resume();
  answer = (_, response) => response.end('{"id":"snd_1"}');
  server = createServer((request, response) => {
    void (async () => {
      requests.push({ path: request.url ?? '', body: await bodyOf(request) });
      answer(request, response);
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  environment = { HOME: '/nonexistent', TIDINGS_URL: urlOfServer(), TIDINGS_API_KEY: 'key' };
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function urlOfServer(): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const body = await text(request);
  const isForm = request.headers['content-type']?.startsWith('multipart/') === true;
  return body === '' ? undefined : isForm ? body : (JSON.parse(body) as unknown);
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

/** Runs a command with a signal that aborts in place of Ctrl-C. */
async function runUntil(signal: AbortSignal, ...parameters: string[]): Promise<Run> {
  const lines: Run = { stdout: '', stderr: '', code: 0 };
  printed = lines;
  const program = createProgram(
    {
      stdin: stdin as NodeJS.ReadStream,
      stdout: { write: (written) => (lines.stdout += written) },
      stderr: { write: (written) => (lines.stderr += written) },
      questions,
      environment,
      signal,
      outputEnd: new AbortController().signal,
      setExitCode: (code) => {
        lines.code = code;
      },
    },
    '0.0.0',
  );
  await program.parseAsync(['node', 'tidings', ...parameters]);
  return lines;
}

describe('a group of commands, whose default command is `list`,', () => {
  const GROUPS = ['sends', 'contacts', 'events', 'webhooks', 'deliveries', 'keys', 'accounts', 'profiles'];
  /** Prints the help of a command, and returns the options in it. */
  const optionsOf = async (...command: string[]): Promise<string[]> => {
    await expect(run(...command, '--help')).rejects.toMatchObject({ exitCode: 0 });
    return printed.stdout.match(/^ +(-\w, )?--[\w-]+/gm) ?? [];
  };

  it.each(GROUPS)('shows the options of `list` in its help: %s', async (group) => {
    const options = await optionsOf(group, 'list');
    expect(options.length).toBeGreaterThan(0);
    expect(await optionsOf(group)).toEqual(options);
  });

  it.each(GROUPS)('names its commands if one is misspelt, and makes no request: %s', async (group) => {
    for (const parameters of [['delte', 'id_1'], ['delte', '--overlap', '60'], ['delte']])
      await expect(run(group, ...parameters)).rejects.toThrow(
        new RegExp(`unknown command 'delte'; ${group} has list, `),
      );
    expect(requests).toEqual([]);
  });

  it('passes its options on to `list`', async () => {
    answer = (_, response) => response.end('{"sends":[],"next":null}');
    await run('sends', '--status', 'failed');
    await run('--json', 'sends', 'list', '--status', 'failed');
    expect(requests.map(({ path }) => path)).toEqual(Array(2).fill('/v1/sends?status=failed&limit=100'));
  });
});

describe('the completion of a shell', () => {
  it.each([
    [['sends', '--st'], '--status'],
    [['deliveries', 'list', '--fa'], '--failed'],
    [['events', '--fo'], '--follow'],
    [['send', '--js'], '--json'],
    [['sends', 'show', '--pro'], '--profile'],
  ])(
    'offers the options of a command, the options of `list` after a group of commands, and the global options: %j',
    async (typed, option) => {
      const log = jest.spyOn(console, 'log').mockReturnValue();
      try {
        await run('complete', '--', ...typed);
        expect(log.mock.calls.flat().join('\n')).toContain(option);
      } finally {
        log.mockRestore();
      }
    },
  );
});

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

describe('the command send', () => {
  it('makes no request, and does not say that the send may be stored, if the idempotency key is invalid in an HTTP header', async () => {
    await expect(run('send', '+15551230001', 'Hello', '--idempotency-key', 'order №5')).rejects.toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining('idempotency key') }),
    );
    expect(requests).toEqual([]);
  });

  it('sends a text that begins with a hyphen if the text comes after --, and otherwise says that it must', async () => {
    await expect(run('send', '+15551230001', '-5 degrees')).rejects.toThrow('unknown option');
    expect(printed.stderr).toContain('begins with a hyphen comes last, after --');
    await run('send', '+15551230001', '--reference', 'r', '--', '-5 degrees');
    expect(requests).toMatchObject([{ body: { message: '-5 degrees' } }]);
  });

  it.each([
    ['photo.JPG', 'image/jpeg'],
    ['receipt.pdf', 'application/pdf'],
    ['card.vcf', 'text/vcard'],
    ['data.unknown', 'application/octet-stream'],
    ['constructor', 'application/octet-stream'],
  ])('sends the file %s with the media type %s', async (name, type) => {
    const folder = await mkdtemp(join(tmpdir(), 'tidings-file-'));
    try {
      await writeFile(join(folder, name), 'content');
      await run('send', '+15551230001', '--file', join(folder, name));
      expect(requests).toMatchObject([{ body: expect.stringContaining(`\r\nContent-Type: ${type}\r\n`) }]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it.each([tmpdir(), '/nonexistent/file'])(
    'makes no request if its file cannot be read, for example %s',
    async (file) => {
      await expect(run('send', '+15551230001', '--file', file)).rejects.toThrow(
        new CommandFault(`--file: ${file} is not a file that can be read`),
      );
      expect(requests).toEqual([]);
    },
  );
});

describe('the command doctor', () => {
  it('prints nothing but the support bundle to standard output with --bundle -', async () => {
    const { stdout } = await run('doctor', '--bundle', '-');
    expect(JSON.parse(stdout)).toMatchObject({
      versions: { node: process.version },
      findings: expect.any(Array),
    });
  });
});

describe('the command login without a terminal', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidings-login-'));
    environment = { XDG_CONFIG_HOME: folder };
    stdin = Readable.from(['tk_new\n']);
    answer = (_, response) => response.end('{"account":"default"}');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const key = async (profile: string): Promise<string | undefined> =>
    (await ProfileStore.ofUser(environment).read()).profiles[profile]?.apiKey;

  it('sends the key to the stored address of the profile if --url is absent', async () => {
    await ProfileStore.ofUser(environment).save('staging', { url: urlOfServer(), apiKey: 'tk_old' });
    environment['TIDINGS_CHECKOUT_URL'] = 'http://127.0.0.1:9';
    await run('--profile', 'staging', 'login');
    expect(requests).toMatchObject([{ path: '/v1/caller' }]);
    expect(await key('staging')).toBe('tk_new');
  });

  it('rejects an invalid profile name before it reads the key or makes a request', async () => {
    stdin = new Readable({ read: () => undefined });
    await expect(run('--profile', 'a/b', '--url', urlOfServer(), 'login')).rejects.toThrow(
      'a profile name has',
    );
    expect(requests).toEqual([]);
  });

  it('sends the key of a new profile to the gateway that npm start runs if --url is absent', async () => {
    environment['TIDINGS_CHECKOUT_URL'] = urlOfServer();
    await run('login');
    expect(requests).toMatchObject([{ path: '/v1/caller' }]);
    expect(await key('default')).toBe('tk_new');
  });
});

describe('the commands login and logout', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tidings-logout-'));
    environment = { XDG_CONFIG_HOME: folder };
    answer = (_, response) => response.end('{"account":"default"}');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('say which profile is now current, or how to choose one if no profile is current', async () => {
    for (const profile of ['prod', 'staging']) {
      stdin = Readable.from(['tk_new\n']);
      const { stdout } = await run('--profile', profile, '--url', urlOfServer(), 'login');
      expect(stdout).toContain(`The current profile is ${profile}.`);
    }
    expect((await run('logout')).stdout).toContain('No profile is current now');
    await expect(run('logout')).rejects.toThrow('no profile is current; name one of: prod');
    expect((await run('logout', 'prod')).stdout).not.toContain('current');
  });
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

  it('prints the new signing secret and the last cursor to standard error, not to standard output, if the command is listen', async () => {
    const interrupt = new AbortController();
    answer = ({ url = '' }, response) => {
      if (url.includes('/stream')) interrupt.abort(new Error('interrupted'));
      else response.end('{"events":[],"next":"c1","hasMore":false}');
    };
    const forward = ['--forward', 'http://127.0.0.1:9/'];
    const { stdout, stderr } = await runUntil(interrupt.signal, '--json', 'listen', ...forward);
    expect(
      stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([{ secret: expect.stringMatching(/^whsec_\S+$/) }, { after: 'c1' }]);
    expect(stdout).toBe('');
  });
});

describe('a command that follows events', () => {
  const forward = ['listen', '--forward', 'http://127.0.0.1:9/'];

  it.each([[['events', '--follow']], [forward]])(
    '%j fails, and opens no stream, if the gateway does not answer at the start',
    async (parameters) => {
      answer = (_, response) => response.destroy();
      await expect(run(...parameters)).rejects.toThrow(TidingsConnectionError);
      expect(requests.every(({ path }) => path === '/v1/events?after=now&limit=1')).toBe(true);
    },
  );

  it.each([[['events', '--follow']], [['--json', 'events', '--follow']], [forward]])(
    '%j misses no event after its start, and says only once that the connection is lost',
    async (parameters) => {
      const interrupt = new AbortController();
      answer = ({ url = '' }, response) => {
        if (!url.includes('/stream')) response.end('{"events":[],"next":"c1","hasMore":false}');
        else if (requests.length < 4) response.destroy();
        else interrupt.abort(new Error('interrupted'));
      };
      const { stderr } = await runUntil(interrupt.signal, ...parameters);
      expect(requests.slice(1).map(({ path }) => path)).toEqual(Array(3).fill('/v1/events/stream?after=c1'));
      expect(stderr.match(/connection to the gateway is lost/g)).toHaveLength(1);
      expect(stderr).toContain('c1');
    },
  );
});

describe('the list of webhooks', () => {
  it('shows no pause and no waiting events if a gateway of an earlier build omits these fields', async () => {
    const older = { id: 'whk_1', url: 'http://a.example/', enabled: true, eventTypes: null, pending: 3 };
    const webhooks = [{ ...older, disabledReason: null, failingSince: null, lastSuccessAt: null }];
    answer = (_, response) => response.end(JSON.stringify({ webhooks }));
    const { stdout } = await run('webhooks');
    expect(stdout).toMatch(/whk_1 +ok +3 +- +all /);
  });
});

describe('a command that gets an answer from another service instead of a gateway', () => {
  it.each([
    [['sends'], '{}'],
    [['deliveries'], '[]'],
    [['events'], 'null'],
    [['events', '--follow'], '{}'],
    [['webhooks'], '{}'],
    [['keys'], '{}'],
    [['accounts'], '{}'],
    [['messages', 'con_1'], '{}'],
    [['status'], '{}'],
  ])('says that the answer is not that of a gateway: %j', async (parameters, json) => {
    answer = (_, response) => response.end(json);
    await expect(run(...parameters)).rejects.toThrow('is not that of a Tidings gateway');
  });

  it('does not say that a text is queued', async () => {
    answer = (_, response) => response.end('{}');
    await expect(run('send', '+15551230001', 'Hello')).rejects.toMatchObject({
      name: 'UnconfirmedSendFault',
      cause: new TidingsConnectionError(
        'the answer to POST /v1/messages/send is not that of a Tidings gateway',
      ),
    });
  });
});

describe('a command that follows events and ends because the API key was revoked', () => {
  it.each([
    [['events', '--follow'], 'Continue with --after c1\n'],
    [['--json', 'events', '--follow'], '{"after":"c1"}\n'],
    [['listen', '--forward', 'http://127.0.0.1:9/'], 'Continue with --after c1\n'],
  ])('says where to continue: %j', async (parameters, note) => {
    answer = ({ url = '' }, response) => {
      if (url.includes('/stream')) response.writeHead(401).end('{"code":"unauthenticated"}');
      else response.end('{"events":[],"next":"c1","hasMore":false}');
    };
    await expect(run(...parameters)).rejects.toMatchObject({ status: 401 });
    expect(printed.stderr).toContain(note);
  });
});

describe('the command listen', () => {
  it.each([
    ['http://user:pw@127.0.0.1:9/', '15', 'must not contain a user name or password'],
    ['http://127.0.0.1:9/', '301', 'a whole number from 1 to 300'],
  ])('rejects invalid options without a request: --forward %s --timeout %s', async (url, seconds, reason) => {
    await expect(run('listen', '--forward', url, '--timeout', seconds)).rejects.toThrow(reason);
    expect(requests).toEqual([]);
  });
});

describe('the command trigger', () => {
  /** Runs `trigger`, with the test server as the simulator. */
  const trigger = (...parameters: string[]): Promise<Run> =>
    run('trigger', ...parameters, '--simulator', urlOfServer());

  it('sends its request to the simulator that npm start runs in this checkout, unless another simulator is given', async () => {
    environment['TIDINGS_CHECKOUT_SIMULATOR'] = urlOfServer();
    await run('trigger', 'contact.created');
    expect(requests).toHaveLength(1);
    environment['TIDINGS_SIMULATOR_URL'] = 'http://127.0.0.1:9';
    await expect(run('trigger', 'contact.created')).rejects.toThrow('at http://127.0.0.1:9;');
  });

  it('creates a contact with an unused phone number, or with the given one', async () => {
    await trigger('contact.created');
    await trigger('contact.created', '--phone-number', '+15551');
    expect(requests).toEqual([
      { path: '/_simulator/contacts', body: { count: 1 } },
      { path: '/_simulator/contacts', body: { phoneNumber: '+15551' } },
    ]);
  });

  it('says that nothing changed if the contact has read every message', async () => {
    answer = (_, response) => response.end('{"ids":[]}');
    expect((await trigger('message.read', '--contact', 'con_1')).stdout).toMatch(/^Nothing changed/);
    answer = (_, response) => response.end('{"ids":["msg_1"]}');
    expect((await trigger('message.read', '--contact', 'con_1')).stdout).toMatch(/^Done\. .*message\.read/);
  });

  it.each([
    ['contact.created', 'contact list, by default every 30 seconds.'],
    [
      'contact.deleted',
      'two contact lists that it read at least 60 seconds apart: by default, 1 to 2 minutes from now.',
    ],
    ['message.read', 'once it has read the contact.'],
  ])('says when the gateway emits %s', async (event, when) => {
    expect((await trigger(event, '--contact', 'con_1')).stdout.trim().endsWith(when)).toBe(true);
  });

  it('names a field that the simulator rejects once, not twice', async () => {
    const message = 'phoneNumber +15551 already belongs to a contact';
    answer = (_, response) => response.writeHead(400).end(JSON.stringify({ field: 'phoneNumber', message }));
    await expect(trigger('contact.created', '--phone-number', '+15551')).rejects.toThrow(
      new CommandFault(`the simulator rejected the request: ${message}`),
    );
  });
});

describe('a command that deletes or revokes', () => {
  const COMMANDS = [
    ['accounts', 'delete', 'Delete the account id_1 with all its data?'],
    ['webhooks', 'delete', 'Delete the webhook id_1 with its deliveries?'],
    ['keys', 'revoke', 'Revoke the API key id_1 now?'],
  ] as const;

  /** Lets a person at a terminal type keys. */
  const type = (keys: string): void => {
    const typed = new PassThrough();
    stdin = Object.assign(typed, { isTTY: true, setRawMode: () => typed });
    typed.write(keys);
  };

  it.each(COMMANDS)(
    'asks a person at a terminal for a confirmation: %s %s',
    async (group, command, question) => {
      type('n');
      let asked = '';
      questions.on('data', (shown: Buffer) => (asked += shown.toString()));
      await expect(run(group, command, 'id_1')).rejects.toThrow(/^id_1 is not (deleted|revoked)$/);
      expect(asked).toContain(question);
      expect(requests).toEqual([]);
      type('y');
      await run(group, command, 'id_1');
      expect(requests).toHaveLength(1);
    },
  );

  it.each(COMMANDS.map(([group, command]) => [group, command] as const))(
    'asks for no confirmation in a script, with --yes, or with --json: %s %s',
    async (group, command) => {
      stdin = Readable.from([]);
      await run(group, command, 'id_1');
      type('');
      await run(group, command, 'id_1', '--yes');
      await run('--json', group, command, 'id_1');
      expect(requests).toHaveLength(3);
    },
  );
});

describe('the scopes of a new API key', () => {
  const create = ['keys', 'create', 'a key', '--scopes'];

  it.each([
    [['messages:send,admin']],
    [['messages:send', 'admin']],
    [['messages:send', '--scopes', 'admin']],
  ])('may be given as %j', async (scopes) => {
    await run(...create, ...scopes);
    expect(requests).toMatchObject([{ body: { scopes: ['messages:send', 'admin'] } }]);
  });

  it.each(['admin,read', ','])(
    'are rejected without a request if a scope does not exist or the list is empty: %j',
    async (scopes) => {
      await expect(run(...create, scopes)).rejects.toThrow('Allowed choices are messages:send');
      expect(requests).toEqual([]);
    },
  );
});

describe('a command that the user ends with Ctrl-C', () => {
  it.each([[['retry', 'dlv_0', 'dlv_1']], [['--json', 'retry', 'dlv_0', 'dlv_1']]])(
    'makes no further request, and prints no error for any delivery: %j',
    async (parameters) => {
      const interrupt = new AbortController();
      answer = () => {
        interrupt.abort(new Error('interrupted'));
      };
      await expect(runUntil(interrupt.signal, ...parameters)).rejects.toThrow('interrupted');
      expect(printed.stderr).toBe('');
      expect(requests).toHaveLength(1);
    },
  );

  it('ends while login reads the key from standard input', async () => {
    stdin = new Readable({ read: () => undefined });
    const interrupt = new AbortController();
    const running = runUntil(interrupt.signal, 'login');
    interrupt.abort(new Error('interrupted'));
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('the command status --watch', () => {
  const watch = ['--json', 'status', '--watch', '--interval', '1'];

  it('prints a remark and continues if the gateway does not answer for some time', async () => {
    const interrupt = new AbortController();
    let shown = 0;
    answer = (_, response) => {
      // The first failure is reported after the request and its retries have failed.
      if (shown === 1 && !printed.stderr.includes('unreachable')) response.destroy();
      else if (shown === 2) interrupt.abort(new Error('interrupted'));
      else response.end(JSON.stringify({ shown: (shown += 1), readiness: {} }));
    };
    await expect(runUntil(interrupt.signal, ...watch)).rejects.toThrow('interrupted');
    expect(printed.stdout).toBe('{"shown":1,"readiness":{}}\n{"shown":2,"readiness":{}}\n');
    expect(JSON.parse(printed.stderr)).toMatchObject({ code: 'unreachable' });
  });

  it('continues if the gateway rejects requests with status 429', async () => {
    const interrupt = new AbortController();
    answer = (_, response) => {
      if (requests.length === 1) response.end('{"readiness":{}}');
      else if (printed.stderr !== '') interrupt.abort(new Error('interrupted'));
      // Retry-After names a longer time than the client library waits.
      else response.writeHead(429, { 'retry-after': '61' }).end('{"code":"rate_limited"}');
    };
    await expect(runUntil(interrupt.signal, ...watch)).rejects.toThrow('interrupted');
    expect(JSON.parse(printed.stderr)).toMatchObject({ status: 429 });
  });

  it('fails if the gateway does not answer at the start', async () => {
    answer = (_, response) => response.destroy();
    await expect(run(...watch)).rejects.toThrow(TidingsConnectionError);
  });
});

describe('a text on standard input', () => {
  it('is not sent if the user presses Ctrl-C before its end, and no error says that a send may be stored', async () => {
    stdin = new Readable({ read: () => undefined });
    const interrupt = new AbortController();
    const running = runUntil(interrupt.signal, 'send', '+15551230001', '-');
    interrupt.abort(new Error('interrupted'));
    await expect(running).rejects.toMatchObject({ name: 'AbortError' });
    expect(requests).toEqual([]);
  });

  it('is not sent if it is not valid UTF-8, because the recipient would get a damaged text', async () => {
    stdin = Readable.from([Buffer.from('Gr\xfc\xdfe', 'latin1')]);
    await expect(run('send', '+15551230001', '-')).rejects.toThrow('not valid UTF-8');
    expect(requests).toEqual([]);
    stdin = Readable.from([Buffer.from('Grüße\n')]);
    await run('send', '+15551230001', '-');
    expect(requests).toMatchObject([{ body: { message: 'Grüße' } }]);
  });
});

describe('a number in an option of webhooks', () => {
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
