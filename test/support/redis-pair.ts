import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import {
  dataSettings,
  freePorts,
  type RedisLayout,
  type RedisProcess,
  startRedisProcess,
} from './redis-process.js';

/** A master and its replica behind one address, which always leads to the current master. */
export interface TestPair extends RedisLayout {
  /** The current master. */
  master(): RedisProcess;
  /** Swaps the roles of master and replica, after the replica has all acknowledged writes. */
  switchOver(): Promise<void>;
}

/** Starts master and replica on free ports, and waits until the replica is in sync. */
export async function startTestPair(): Promise<TestPair> {
  const directory = await mkdtemp(join(tmpdir(), 'tidings-pair-'));
  const password = randomBytes(12).toString('hex');
  const processes: RedisProcess[] = [];
  const door = new Forwarder();
  const dispose = async (): Promise<void> => {
    await door.close();
    await Promise.all(processes.map((process) => process.end()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const [first = 0, second = 0] = await freePorts(2);
    for (const port of [first, second]) {
      const settings = [
        ...dataSettings(password),
        ...(port === first ? [] : [`replicaof 127.0.0.1 ${first}`]),
      ];
      processes.push(
        await startRedisProcess({ directory: join(directory, String(port)), port, settings, password }),
      );
    }
    const [one, other] = processes as [RedisProcess, RedisProcess];
    let [master, replica] = [one, other];
    const follows = (): Promise<unknown> =>
      eventually(
        'the replica is in sync',
        async () =>
          /master_link_status:up/.test(String(await replica.ask('INFO', 'replication'))) &&
          // The master notices this later than the replica, and refuses a failover until then.
          /state=online/.test(String(await master.ask('INFO', 'replication'))),
      );
    await follows();
    const port = await door.open(master.port);
    const switchOver = async (): Promise<void> => {
      await master.ask('FAILOVER', 'TO', '127.0.0.1', replica.port, 'TIMEOUT', 10_000);
      await eventually('the replica is the master', async () =>
        /role:master/.test(String(await replica.ask('INFO', 'replication'))),
      );
      [master, replica] = [replica, master];
      door.forwardTo(master.port);
      await follows();
    };
    const url = `redis://:${password}@127.0.0.1:${port}`;
    return { url, master: () => master, switchOver, dispose, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Forwards connections to a port. A change of the port closes all connections. */
class Forwarder {
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((socket) => {
    this.forward(socket);
  });
  private port = 0;

  async open(port: number): Promise<number> {
    this.port = port;
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  forwardTo(port: number): void {
    this.port = port;
    this.closeAll();
  }

  async close(): Promise<void> {
    this.closeAll();
    if (this.server.listening) await new Promise((closed) => this.server.close(closed));
  }

  private forward(socket: Socket): void {
    const further = connect(this.port, '127.0.0.1');
    for (const [from, to] of [
      [socket, further],
      [further, socket],
    ] as const) {
      this.sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }

  private closeAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }
}
