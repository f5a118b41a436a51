import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { redisDirectory } from './redis-directory.js';
import {
  dataSettings,
  freePorts,
  type RedisLayout,
  type RedisProcess,
  startRedisProcess,
} from './redis-process.js';

const NAME = 'tidings';
const QUORUM = 2;
const SENTINELS = 3;
/** A master that does not answer for so long is down. */
const DOWN_AFTER_MS = 1_000;

/** A master and its replica under three sentinels. */
export interface TestSentinel extends RedisLayout {
  /** As they were at the start. */
  readonly master: RedisProcess;
  readonly replica: RedisProcess;
  /** Resolves when the replica is the master, by its own word and by that of every sentinel. */
  promoted(): Promise<void>;
}

/** Starts all of them on free ports of this machine, and waits until they know of each other. */
export async function startTestSentinel(): Promise<TestSentinel> {
  const directory = await redisDirectory('tidings-sentinel-');
  const password = randomBytes(12).toString('hex');
  const processes: RedisProcess[] = [];
  const dispose = async (): Promise<void> => {
    // The sentinels first: else they would promote whatever is left.
    await Promise.all(processes.toReversed().map((process) => process.end()));
    await rm(directory, { recursive: true, force: true });
  };
  const start = async (port: number, settings: string[], sentinel = false): Promise<RedisProcess> => {
    const process = await startRedisProcess({
      directory: join(directory, String(port)),
      port,
      settings,
      sentinel,
      ...(sentinel ? {} : { password }),
    });
    processes.push(process);
    return process;
  };
  try {
    const [masterPort = 0, replicaPort = 0, ...ports] = await freePorts(2 + SENTINELS);
    const master = await start(masterPort, dataSettings(password));
    const replica = await start(replicaPort, [
      ...dataSettings(password),
      `replicaof 127.0.0.1 ${masterPort}`,
    ]);
    await eventually('the replica follows', async () =>
      /master_link_status:up/.test(String(await replica.ask('INFO', 'replication'))),
    );
    const settings = [
      `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} ${QUORUM}`,
      `sentinel auth-pass ${NAME} ${password}`,
      `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${NAME} 5000`,
    ];
    const sentinels = await Promise.all(ports.map((port) => start(port, settings, true)));
    await eventually('the sentinels know of each other and of the replica', async () => {
      const views = await Promise.all(sentinels.map((sentinel) => sentinel.ask('INFO', 'sentinel')));
      return views.every((view) => /status=ok,.*slaves=1,sentinels=3/.test(String(view)));
    });
    const promoted = async (): Promise<void> => {
      await eventually(
        'the replica is the master',
        async () => {
          const views = await Promise.all(
            sentinels.map((sentinel) => sentinel.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)),
          );
          const agreed = views.every((view) => Array.isArray(view) && view[1] === String(replicaPort));
          return agreed && /role:master/.test(String(await replica.ask('INFO', 'replication')));
        },
        60_000,
      );
    };
    const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`);
    const url = `redis-sentinel://:${password}@${hosts.join(',')}/${NAME}`;
    return { url, master, replica, promoted, dispose, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
