import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findRedisServer } from '#platform';
import { eventually } from './eventually.js';

/** A Redis Cluster of two masters without replicas, each with half of the slots. It leaves nothing behind. */
export interface TestCluster extends AsyncDisposable {
  readonly url: string;
}

const HALVES = [
  [0, 8_191],
  [8_192, 16_383],
] as const;

/** Starts it. */
export async function startTestCluster(): Promise<TestCluster> {
  const search = await findRedisServer();
  if (!search.found) throw new Error(search.reason);
  const directory = await mkdtemp(join(tmpdir(), 'tidings-cluster-'));
  const nodes = await Promise.all(HALVES.map((slots) => startNode(search.path, directory, slots)));
  const dispose = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.end()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const [first, second] = nodes;
    if (first === undefined || second === undefined) throw new Error('two nodes were started');
    await first.client.call('CLUSTER', 'MEET', '127.0.0.1', second.port, second.busPort);
    await eventually('the cluster is whole', async () => {
      const states = await Promise.all(nodes.map(({ client }) => client.call('CLUSTER', 'INFO')));
      return states.every((state) => /cluster_state:ok[^]*cluster_known_nodes:2/.test(String(state)));
    });
  } catch (error) {
    await dispose();
    throw error;
  }
  const url = `redis-cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  return { url, [Symbol.asyncDispose]: dispose };
}

async function startNode(
  program: string,
  directory: string,
  [from, to]: readonly [number, number],
): Promise<{ client: Redis; port: number; busPort: number; end: () => Promise<void> }> {
  const [port, busPort] = [await freePort(), await freePort()];
  const child = spawn(
    program,
    [
      ...['--bind', '127.0.0.1', '--port', String(port), '--cluster-port', String(busPort)],
      ...['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`, '--dir', directory],
      ...['--save', '', '--appendonly', 'no'],
    ],
    { stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  const client = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  const end = async (): Promise<void> => {
    client.disconnect();
    child.kill('SIGKILL');
    await exited;
  };
  try {
    await eventually('the node answers', async () => Boolean(await client.ping()));
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
  } catch (error) {
    await end();
    throw error;
  }
  return { client, port, busPort, end };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
