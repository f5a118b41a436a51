/**
 * Writes `snapshots/COMMIT.json.gz`: the stored data of an old build, and the replies of that build. The tests in this
 * folder start the present build on this data. Each snapshot was made like this, on Redis 7.0.15 and Node.js 20.20:
 *
 *     git worktree add /tmp/old 5f68bc9
 *     (cd /tmp/old && npm ci && node apps/launcher/build.mjs)
 *     node test/upgrade/make-snapshot.mjs /tmp/old
 *
 * This takes a minute and a half. Wait two more minutes before the test, because some sends must be due by then. A
 * snapshot contains no real secret: all its keys were made for it.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { answersOf } from './answers.mjs';
import { Caller } from './caller.mjs';
import { ORDERS } from './environment.mjs';
import {
  acceptWithoutWorker,
  beginThings,
  finishThings,
  LONG_WAITS,
  register,
  SHORT_WAITS,
} from './history.mjs';
import { OldBuild } from './old-build.mjs';

const ACCOUNTS = Object.keys(ORDERS);
const [checkout] = process.argv.slice(2);
if (checkout === undefined) throw new Error('usage: node test/upgrade/make-snapshot.mjs CHECKOUT');

const directory = await mkdtemp(join(tmpdir(), 'tidings-old-'));
const keys = { api: `tk_${randomBytes(12).toString('hex')}`, encryption: randomBytes(32).toString('base64') };
const build = new OldBuild(resolve(checkout), directory, keys);
const receiver = await startReceiver();
try {
  const snapshot = await makeSnapshot();
  const packed = gzipSync(JSON.stringify(snapshot), { level: 9 });
  const file = join(import.meta.dirname, 'snapshots', `${snapshot.commit.slice(0, 7)}.json.gz`);
  await writeFile(file, packed);
  console.log(`${file}: ${snapshot.answers.length} replies, ${packed.length} bytes`);
} finally {
  await build.end();
  receiver.close();
  await rm(directory, { recursive: true, force: true });
}

async function makeSnapshot() {
  const caller = new Caller(build);
  await build.startRedis();
  for (const account of ACCOUNTS) await build.startSimulator(account);
  await build.startGateway();
  await register(caller, receiver.url);
  await build.startWorker(SHORT_WAITS);
  await finishThings(caller);
  await build.stop('worker');
  await build.startWorker(LONG_WAITS);
  await beginThings(caller, receiver.url, receiver.dead);
  // In the middle of a POST and of a delivery.
  await build.stop('worker', 'SIGKILL');
  await acceptWithoutWorker(caller);
  const answers = (await Promise.all(ACCOUNTS.map((account) => answersOf(caller, account)))).flat();
  await build.stop('gateway');
  await build.stopRedis();
  for (const account of ACCOUNTS) await build.stop(account);
  return {
    commit: execFileSync('git', ['rev-parse', 'HEAD'], { cwd: checkout, encoding: 'utf8' }).trim(),
    madeAt: new Date().toISOString(),
    keys,
    names: caller.names,
    answers,
    files: await filesOf(['redis/appendonlydir', 'simulators', 'blobs']),
  };
}

/**
 * @param {string[]} folders
 * @returns {Promise<Record<string, string>>} contents by path, a character per byte
 */
async function filesOf(folders) {
  const contents = folders.map(async (folder) => {
    const entries = await readdir(join(directory, folder), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        return [relative(directory, path), (await readFile(path)).toString('latin1')];
      }),
    );
  });
  return Object.fromEntries((await Promise.all(contents)).flat());
}

/** Starts a receiver of webhooks. Also returns an address at which no server listens. */
async function startReceiver() {
  const server = createServer((request, response) => {
    const status = { '/live': 204, '/failing': 500, '/gone': 410 }[request.url ?? ''];
    request.resume();
    // Any other path never answers.
    if (status !== undefined) response.writeHead(status).end();
  });
  const unused = createServer();
  const [port, dead] = await Promise.all(
    [server, unused].map(async (one) => {
      await new Promise((listening) => one.listen(0, '127.0.0.1', () => listening(undefined)));
      const address = one.address();
      return address !== null && typeof address === 'object' ? address.port : 0;
    }),
  );
  unused.close();
  return {
    url: (/** @type {string} */ path) => `http://127.0.0.1:${port}${path}`,
    dead: `http://127.0.0.1:${dead}/dead`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
