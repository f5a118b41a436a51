import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient } from '@hey-api/openapi-ts';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { build } from 'esbuild';
import ts from 'typescript';
import { json, KEY, startTestGateway, type TestGateway } from '../../../apps/gateway/src/fixtures/gateway.js';
import { type ApiCheck, apiCheckOf, checkedReply } from '../../support/openapi.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

let redis: TestRedis;
let gateway: TestGateway;
let folder: string;
let text: string;
let check: ApiCheck;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  folder = await mkdtemp(join(tmpdir(), 'tidings-client-'));
  text = await (await gateway.fetch('/docs/openapi.json', { key: null })).text();
  check = apiCheckOf(text);
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
  await rm(folder, { recursive: true, force: true });
});

/** An operation of the generated client. */
type Call = (options: object) => Promise<{ response: Response }>;

/** Ids for the path parameters of the operations, which exist where an operation needs them. */
async function pathIds(): Promise<Record<string, string>> {
  const made = await gateway.fetch('/v1/webhooks', json({ url: 'https://example.com/hook' }));
  const { id } = (await made.json()) as { id: string };
  return { webhooks: id };
}

describe('the OpenAPI document', () => {
  it('passes a linter without errors and warnings', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: text, config });
    expect(
      problems.map(({ severity, message, location }) => [severity, message, location[0]?.pointer]),
    ).toEqual([]);
  });

  it('generates a client that compiles in strict mode, and each call of that client gets a documented reply', async () => {
    const sources = join(folder, 'client');
    await createClient({
      input: JSON.parse(text) as Record<string, unknown>,
      output: sources,
      plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
      logs: { level: 'silent' },
    });
    expect(typeErrors(join(sources, 'index.ts'))).toEqual([]);

    const bundle = join(folder, 'client.mjs');
    await build({ entryPoints: [join(sources, 'sdk.gen.ts')], bundle: true, format: 'esm', outfile: bundle });
    const client = (await import(pathToFileURL(bundle).href)) as Record<string, Call>;
    const ids = await pathIds();
    // Deletions come last, since other operations need what they delete.
    const operations = check
      .operations()
      .filter(({ operation }) => operation.operationId !== 'streamEvents')
      .sort((a, b) => Number(a.method === 'delete') - Number(b.method === 'delete'));
    for (const { path, method, operation } of operations) {
      const call = client[operation.operationId];
      if (call === undefined) throw new Error(`the client lacks ${operation.operationId}`);
      const { response } = await call({
        baseUrl: gateway.url,
        auth: KEY,
        path: { id: ids[path.split('/')[2] ?? ''] ?? 'unknown' },
        body: operation.requestBody?.content['application/json']?.example,
        fetch: async (request: Request) =>
          checkedReply(check, method, new URL(request.url).pathname, await fetch(request)),
      });
      expect([operation.operationId, response.status]).not.toEqual([operation.operationId, 401]);
      expect(response.status).toBeLessThan(500);
    }
  });
});

/** Returns the errors of the type checker in a generated client. */
function typeErrors(file: string): string[] {
  const program = ts.createProgram([file], {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
  });
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
