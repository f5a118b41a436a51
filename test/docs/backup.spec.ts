import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { access, chmod, chown, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startEmbeddedRedis } from '#embedded-redis';
import { findProgram } from '../support/find-program.js';
import { redisProgram } from '../support/redis-program.js';
import { withTestRedis } from '../support/redis-server.js';
import { read } from './pages.js';

const REDIS_CLI = findProgram('redis-cli');
const CAN_RUN = REDIS_CLI !== undefined && findProgram('redis-check-rdb') !== undefined;
if (!CAN_RUN)
  process.stderr.write('SKIPPED: the backup under Docker Compose is not tested without redis-cli\n');
/** In a container, Redis has only the rights of its own user. Only root can start a program with these rights. */
const SETPRIV = process.getuid?.() === 0 ? findProgram('setpriv') : undefined;
const USER_OF_REDIS = 65_534;

/** The command of docs/operations.md that backs up the files in a gateway. */
const [, COMMAND_OF_FILES = ''] = / gateway (sh -c '[^']*') > /.exec(read('docs/operations.md')) ?? [];

/** The commands of docs/operations.md in the container of Redis, with the file that the operator's shell opens. */
const COMMANDS = [...read('docs/operations.md').matchAll(/ redis (sh -e?c '[^']*'(?: [<>] \S+)?)/g)].map(
  ([, command = '']) => command,
);

let folder: string;
let data: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidings-backup-'));
  await chmod(folder, 0o755);
  data = join(folder, 'data');
  await mkdir(join(folder, 'backup'));
  await mkdir(join(folder, 'bin'));
  await mkdir(join(data, 'appendonlydir'), { recursive: true });
  await writeFile(join(data, 'appendonlydir/former'), 'the former data');
  if (SETPRIV === undefined) return;
  for (const path of [data, join(data, 'appendonlydir'), join(data, 'appendonlydir/former')])
    await chown(path, USER_OF_REDIS, USER_OF_REDIS);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const run = (command: string): Promise<unknown> =>
  promisify(execFile)('/bin/sh', ['-c', command], {
    cwd: folder,
    env: { ...process.env, PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter) },
  });

/** Backs up a Redis of this machine. */
async function backUp(url: string, dataDirectory: string): Promise<void> {
  const client = join(folder, 'bin/redis-cli');
  const { port, password } = new URL(url);
  await writeFile(
    client,
    `#!/bin/sh\nexec '${REDIS_CLI}' -p ${port} -a '${password}' --no-auth-warning "$@"\n`,
  );
  await chmod(client, 0o755);
  const command = COMMANDS.find((each) => each.includes('BGSAVE')) ?? '';
  await run(command.replaceAll('/data', dataDirectory));
  await chmod(join(folder, 'backup/dump.rdb'), 0o600);
}

async function restore(): Promise<void> {
  const command = COMMANDS.find((each) => each.includes('rm -rf')) ?? '';
  const user = `${SETPRIV} --reuid=${USER_OF_REDIS} --regid=${USER_OF_REDIS} --clear-groups`;
  const inContainer = command.replaceAll('/backup/', `${folder}/backup/`).replaceAll('/data', data);
  await run(SETPRIV === undefined ? inContainer : `${user} ${inContainer}`);
}

async function requireFormerData(): Promise<void> {
  expect(await readFile(join(data, 'appendonlydir/former'), 'utf8')).toBe('the former data');
}

(CAN_RUN ? describe : describe.skip)('the backup and restore of Redis under Docker Compose', () => {
  it('restores a snapshot that only the operator may read', async () => {
    await withTestRedis(async ({ url, dataDirectory }) => {
      const redis = new Redis(url);
      await redis.set('kept', 'yes');
      redis.disconnect();
      await backUp(url, dataDirectory);
    });
    await restore();
    await expect(access(join(data, 'appendonlydir/former'))).rejects.toThrow();
    const server = await startEmbeddedRedis({ dataDirectory: data, binary: await redisProgram() });
    try {
      const redis = new Redis(server.url);
      expect(await redis.get('kept')).toBe('yes');
      redis.disconnect();
    } finally {
      await server.stop();
    }
  });

  it('leaves the former data alone if there is no snapshot', async () => {
    await expect(restore()).rejects.toThrow();
    await requireFormerData();
  });

  it('leaves the former data alone if the snapshot is empty', async () => {
    await writeFile(join(folder, 'backup/dump.rdb'), '');
    await expect(restore()).rejects.toThrow();
    await requireFormerData();
  });

  it('leaves the former data alone if the snapshot is incomplete', async () => {
    await withTestRedis(async ({ url, dataDirectory }) => {
      const redis = new Redis(url);
      await redis.set('kept', randomBytes(1_000).toString('hex'));
      redis.disconnect();
      await backUp(url, dataDirectory);
    });
    await truncate(join(folder, 'backup/dump.rdb'), 100);
    await expect(restore()).rejects.toThrow();
    await requireFormerData();
  });

  it('leaves the former data alone if the snapshot cannot be read', async () => {
    // Nobody can read a directory as a file, not even root.
    await mkdir(join(folder, 'backup/dump.rdb'));
    await expect(restore()).rejects.toThrow();
    await requireFormerData();
  });
});

// The image has GNU tar, as Linux machines do.
(process.platform === 'linux' ? describe : describe.skip)('the backup of files under Docker Compose', () => {
  it('succeeds if files are removed meanwhile', async () => {
    const files = ['a', 'b', 'c'].map((name) => join(data, name));
    for (const file of files) await writeFile(file, Buffer.alloc(4_000_000));
    const tar = spawn('/bin/sh', ['-c', COMMAND_OF_FILES.replace('/app/.data/blobs', data)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = once(tar, 'close');
    // The rest of the files is not read yet: the pipe is full.
    await once(tar.stdout, 'readable');
    for (const file of files) await rm(file);
    tar.stdout.resume();
    expect(await ended).toEqual([0, null]);
  });

  it('fails if the files cannot be read', async () => {
    await expect(run(COMMAND_OF_FILES.replace('/app/.data/blobs', join(folder, 'none')))).rejects.toThrow();
  });
});
