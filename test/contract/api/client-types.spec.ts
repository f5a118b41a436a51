import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { createClient } from '@hey-api/openapi-ts';
import { startTestGateway } from '../../../apps/gateway/src/fixtures/gateway.js';
import { ROOT } from '../../support/process.js';
import { startTestRedis } from '../../support/redis-server.js';

const FILE = join(ROOT, 'libs/client/src/api-types.ts');
const HEADER = '// Generated from the OpenAPI document by `npm run generate:client`.\n';

it('the stored types of the client are up to date with the OpenAPI document (to update: npm run generate:client)', async () => {
  await using redis = await startTestRedis();
  await using gateway = await startTestGateway({ redisUrl: redis.url });
  const document = (await (await gateway.fetch('/docs/openapi.json', { key: null })).json()) as object;
  const folder = await mkdtemp(join(tmpdir(), 'tidings-types-'));
  try {
    await createClient({
      // The models are enough: the client has methods of its own.
      input: { ...document, paths: {}, webhooks: {}, servers: [] },
      output: folder,
      plugins: ['@hey-api/typescript'],
      logs: { level: 'silent' },
    });
    const generated = (await readFile(join(folder, 'types.gen.ts'), 'utf8')).replace(
      /^\/\/ This file.*\n/,
      HEADER,
    );
    if (process.env['TIDINGS_GENERATE'] === '1') await writeFile(FILE, generated);
    expect(await readFile(FILE, 'utf8')).toBe(generated);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
