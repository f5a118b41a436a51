import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient } from '@hey-api/openapi-ts';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { build } from 'esbuild';
import openapiTypescript, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { json, KEY, startTestGateway, type TestGateway } from '../../../apps/gateway/src/fixtures/gateway.js';
import { eventually } from '../../support/eventually.js';
import { findProgram } from '../../support/find-program.js';
import { type ApiCheck, apiCheckOf, checkedReply } from '../../support/openapi.js';
import { ROOT } from '../../support/process.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const PYTHON_GENERATOR = findProgram('openapi-python-client');
if (PYTHON_GENERATOR === undefined)
  process.stderr.write('SKIPPED: no Python client is generated without openapi-python-client\n');

let redis: TestRedis;
let gateway: TestGateway;
let folder: string;
let text: string;
let check: ApiCheck;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  // In the checkout, so that the generated clients find the packages that they import.
  await mkdir(join(ROOT, '.data/tests'), { recursive: true });
  folder = await mkdtemp(join(ROOT, '.data/tests/client-'));
  text = await (await gateway.fetch('/docs/openapi.json', { key: null })).text();
  check = apiCheckOf(text);
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
  await rm(folder, { recursive: true, force: true });
});

/** An operation, and what the generated clients call it with. */
interface PlannedCall {
  name: string;
  method: string;
  path: string;
  /** Value of the path parameter, if there is one. It exists for webhooks. */
  id: string;
  /** Example of the JSON request body, or null. */
  body: unknown;
}

/** Plans a call of every operation but the endless stream. Each client gets a webhook of its own. */
async function planCalls(): Promise<PlannedCall[]> {
  const made = await gateway.fetch('/v1/webhooks', json({ url: 'https://example.com/hook' }));
  const { id } = (await made.json()) as { id: string };
  return (
    check
      .operations()
      .filter(({ operation }) => operation.operationId !== 'streamEvents')
      // Deletions come last, since other operations need what they delete.
      .sort((a, b) => Number(a.method === 'delete') - Number(b.method === 'delete'))
      .map(({ path, method, operation }) => ({
        name: operation.operationId,
        method,
        path,
        id: path.startsWith('/v1/webhooks/') ? id : 'unknown',
        body: operation.requestBody?.content['application/json']?.example ?? null,
      }))
  );
}

/** Sends a request of a generated client, and checks the reply against the document. */
async function checkedFetch(request: Request): Promise<Response> {
  return checkedReply(check, request.method, new URL(request.url).pathname, await fetch(request));
}

/** Fails if a call was not authenticated, or made the gateway fail. */
function expectAnswered(name: string, status: number): void {
  expect([name, status]).not.toEqual([name, 401]);
  expect([name, status >= 500]).toEqual([name, false]);
}

describe('the OpenAPI document', () => {
  it('passes a linter without errors and warnings', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: text, config });
    expect(
      problems.map(({ severity, message, location }) => [severity, message, location[0]?.pointer]),
    ).toEqual([]);
  });

  it('yields a generated TypeScript client that compiles in strict mode and gets a documented reply from each operation except the event stream', async () => {
    const sources = join(folder, 'client');
    await createClient({
      input: JSON.parse(text) as Record<string, unknown>,
      output: sources,
      plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
      logs: { level: 'silent' },
    });
    expect(await typeErrors(join(sources, 'index.ts'))).toEqual([]);
    type Call = (options: object) => Promise<{ response: Response }>;
    const client = (await bundled(join(sources, 'sdk.gen.ts'))) as Record<string, Call>;
    for (const { name, id, body } of await planCalls()) {
      const call = client[name];
      if (call === undefined) throw new Error(`the client lacks ${name}`);
      const { response } = await call({
        baseUrl: gateway.url,
        auth: KEY,
        path: { id },
        body: body ?? undefined,
        fetch: checkedFetch,
      });
      expectAnswered(name, response.status);
    }
  });

  it('works with openapi-typescript: calls of all operations except the event stream compile with the generated types, and get documented replies', async () => {
    const sources = join(folder, 'types');
    await mkdir(sources);
    await writeFile(join(sources, 'api.ts'), astToString(await openapiTypescript(text)));
    await writeFile(join(sources, 'calls.ts'), typedCalls(await planCalls()));
    expect(await typeErrors(join(sources, 'calls.ts'))).toEqual([]);
    const { callAll } = (await bundled(join(sources, 'calls.ts'))) as {
      callAll: (options: object) => AsyncIterable<[name: string, status: number]>;
    };
    let count = 0;
    const headers = { 'X-API-Key': KEY };
    for await (const [name, status] of callAll({ baseUrl: gateway.url, headers, fetch: checkedFetch })) {
      expectAnswered(name, status);
      count += 1;
    }
    expect(count).toBeGreaterThan(20);
  });

  (PYTHON_GENERATOR === undefined ? it.skip : it)(
    'yields a Python client with openapi-python-client; this client can call every operation except the event stream',
    async () => {
      const generator = PYTHON_GENERATOR ?? '';
      const inFolder = { cwd: folder, timeout: 120_000 };
      await writeFile(join(folder, 'openapi.json'), text);
      await writeFile(join(folder, 'generator.yaml'), 'post_hooks: []\n');
      const { stdout, stderr } = await promisify(execFile)(
        generator,
        'generate --path openapi.json --config generator.yaml --output-path python --meta none --fail-on-warning'.split(
          ' ',
        ),
        inFolder,
      );
      expect(stdout + stderr).not.toMatch(/warning|error/i);
      // The generator's own interpreter has the packages that generated clients import.
      const interpreter = /^#!(\S+)/.exec(await readFile(generator, 'utf8'))?.[1] ?? 'python3';
      const operations = await planCalls();
      const program = join(ROOT, 'test/contract/api/generated-client.py');
      const running = promisify(execFile)(
        interpreter,
        [program, join(folder, 'python'), gateway.url],
        inFolder,
      );
      running.child.stdin?.end(JSON.stringify({ key: KEY, operations }));
      const answered = (await running).stdout.trim().split('\n');
      expect(answered).toHaveLength(operations.length);
      for (const line of answered) {
        const [name = '', status] = line.split(' ');
        expectAnswered(name, Number(status));
      }
    },
  );
});

/** Source text of a module that calls every operation by the generated types, with the examples as literals. */
function typedCalls(calls: readonly PlannedCall[]): string {
  const lines = calls.map(({ name, method, path, id, body }) => {
    const options = [
      // Not every reply is JSON.
      "parseAs: 'text'",
      ...(path.includes('{id}') ? [`params: { path: { id: ${JSON.stringify(id)} } }`] : []),
      ...(body === null ? [] : [`body: ${JSON.stringify(body)}`]),
    ];
    const call = `client.${method.toUpperCase()}(${JSON.stringify(path)}, { ${options.join(', ')} })`;
    return `  yield ['${name}', (await ${call}).response.status];`;
  });
  return `import createClient, { type ClientOptions } from 'openapi-fetch';
import type { paths } from './api';
export async function* callAll(options: ClientOptions): AsyncGenerator<[string, number]> {
  const client = createClient<paths>(options);
${lines.join('\n')}
}
`;
}

/** Bundles and loads a module of a generated client. */
async function bundled(entry: string): Promise<Record<string, unknown>> {
  const outfile = entry.replace(/\.ts$/, '.mjs');
  await build({ entryPoints: [entry], bundle: true, format: 'esm', platform: 'node', outfile });
  return (await import(pathToFileURL(outfile).href)) as Record<string, unknown>;
}

const COMPILER_OPTIONS: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  types: [],
};
const parsedLibraries = new Map<string, ts.SourceFile | undefined>();

/** Returns a host that parses the large type declarations of JavaScript and browsers only once. */
function compilerHost(): ts.CompilerHost {
  const host = ts.createCompilerHost(COMPILER_OPTIONS);
  const parse = host.getSourceFile.bind(host);
  const libraries = dirname(host.getDefaultLibFileName(COMPILER_OPTIONS));
  host.getSourceFile = (name, ...how) => {
    if (dirname(name) !== libraries) return parse(name, ...how);
    if (!parsedLibraries.has(name)) parsedLibraries.set(name, parse(name, ...how));
    return parsedLibraries.get(name);
  };
  return host;
}

/**
 * Returns the errors of the type checker in a generated client. It blocks this process for seconds, in which the
 * gateway's connection to Redis may time out.
 */
async function typeErrors(file: string): Promise<string[]> {
  const found = typeErrorsIn(file);
  await eventually('Redis responds', () => gateway.redis.ping());
  return found;
}

function typeErrorsIn(file: string): string[] {
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], COMPILER_OPTIONS, compilerHost()))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
