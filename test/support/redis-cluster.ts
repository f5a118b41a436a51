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

const MASTERS = 3;
const SLOTS = 16_384;

/** A Redis Cluster of three masters without replicas. */
export interface TestCluster extends RedisLayout {
  readonly masters: readonly RedisProcess[];
  /** The master that serves a key. */
  masterOf(key: string): Promise<RedisProcess>;
}

/** Starts the masters on free ports, gives each a third of the slots, and waits until all agree. */
export async function startTestCluster(): Promise<TestCluster> {
  const directory = await redisDirectory('tidings-cluster-');
  const password = randomBytes(12).toString('hex');
  const masters: RedisProcess[] = [];
  const dispose = async (): Promise<void> => {
    await Promise.all(masters.map((master) => master.end()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const ports = await freePorts(2 * MASTERS);
    const buses = ports.slice(MASTERS);
    for (const [i, port] of ports.slice(0, MASTERS).entries()) {
      const settings = [
        ...dataSettings(password),
        'cluster-enabled yes',
        `cluster-port ${buses[i] ?? 0}`,
        'cluster-node-timeout 2000',
      ];
      masters.push(
        await startRedisProcess({ directory: join(directory, String(port)), port, password, settings }),
      );
    }
    await joinAll(masters, buses);
  } catch (error) {
    await dispose();
    throw error;
  }
  const hosts = masters.map(({ port }) => `127.0.0.1:${port}`);
  const masterOf = async (key: string): Promise<RedisProcess> => {
    const slot = Number(await masters[0]?.ask('CLUSTER', 'KEYSLOT', key));
    const found = masters[Math.floor((slot * MASTERS) / SLOTS)];
    if (found === undefined) throw new Error(`no master serves slot ${slot}`);
    return found;
  };
  return {
    url: `redis-cluster://:${password}@${hosts.join(',')}`,
    masters,
    masterOf,
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

async function joinAll(masters: readonly RedisProcess[], buses: readonly number[]): Promise<void> {
  const [first] = masters;
  for (const [i, master] of masters.entries()) {
    // The same distribution of slots as in masterOf.
    const from = Math.ceil((i * SLOTS) / MASTERS);
    const to = Math.ceil(((i + 1) * SLOTS) / MASTERS) - 1;
    await master.ask('CLUSTER', 'ADDSLOTSRANGE', from, to);
    await master.ask('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
    if (i > 0) await first?.ask('CLUSTER', 'MEET', '127.0.0.1', master.port, buses[i] ?? 0);
  }
  await eventually('all masters agree on the cluster', async () => {
    const views = await Promise.all(masters.map((master) => master.ask('CLUSTER', 'INFO')));
    return views.every(
      (view) => /cluster_state:ok/.test(String(view)) && /cluster_known_nodes:3\b/.test(String(view)),
    );
  });
}
