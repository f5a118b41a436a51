import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis-connection.js';

/**
 * Makes a client write the commands of one turn of the event loop together. Each write is a system call of this process
 * and wakes Redis; for short commands, that costs more than the command itself. No command waits for longer than its
 * turn.
 */
export function batchWrites(client: RedisClient): void {
  if (client instanceof Cluster) client.on('+node', batchWritesOfServer);
  else batchWritesOfServer(client);
}

function batchWritesOfServer(client: Redis): void {
  // The client has a new stream after each reconnect.
  client.on('connect', () => {
    const { stream } = client;
    const write = stream.write.bind(stream) as (...parameters: unknown[]) => boolean;
    let isCorked = false;
    const uncork = (): void => {
      isCorked = false;
      stream.uncork();
    };
    stream.write = (...parameters: unknown[]): boolean => {
      if (!isCorked) {
        isCorked = true;
        stream.cork();
        setImmediate(uncork);
      }
      return write(...parameters);
    };
  });
}
