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
/** Time without a response after which a master is considered down. */
const DOWN_AFTER_MS = 1_000;

/** A master and its replica under three sentinels. */
export interface TestSentinel extends RedisLayout {
  /** The roles at the start; a failover does not change these fields. */
  readonly master: RedisProcess;
  readonly replica: RedisProcess;
  /** Resolves when both the replica and every sentinel report the replica as master. */
  promoted(): Promise<void>;
}

/** Starts all processes on free ports, and waits until they know each other. */
export async function startTestSentinel(): Promise<TestSentinel> {
  const directory = await redisDirectory('tidings-sentinel-');
  const password = randomBytes(12).toString('hex');
  const processes: RedisProcess[] = [];
  const dispose = async (): Promise<void> => {
    // The sentinels end first; otherwise they would start a failover.
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
    await eventually('the replica is in sync', async () =>
      /master_link_status:up/.test(String(await replica.ask('INFO', 'replication'))),
    );
    const settings = [
      `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} ${QUORUM}`,
      `sentinel auth-pass ${NAME} ${password}`,
      `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${NAME} 5000`,
    ];
    const sentinels = await Promise.all(ports.map((port) => start(port, settings, true)));
    await eventually('the sentinels know each other and the replica', async () => {
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
