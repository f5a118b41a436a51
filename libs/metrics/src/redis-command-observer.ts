import type { Redis } from 'ioredis';
import type { RedisClient } from '#platform';

/**
 * Observes the commands of a connection to Redis.
 * @param observe called when a command has succeeded or failed, with the command's name in lower case and its
 * duration in seconds; the duration includes any wait for the connection; the function must not throw
 */
export function observeRedisCommands(
  redis: RedisClient,
  observe: (command: string, seconds: number) => void,
): void {
  type SendCommand = Redis['sendCommand'];
  const client = redis as { sendCommand: SendCommand };
  const send = client.sendCommand.bind(redis);
  const observed = new WeakSet<object>();
  client.sendCommand = (command, ...more) => {
    // The client calls this method again for a command that waited for the connection, or whose reply was lost.
    if (observed.has(command)) return send(command, ...more);
    observed.add(command);
    const began = performance.now();
    const reply = send(command, ...more);
    const done = (): void => {
      observe(command.name.toLowerCase(), (performance.now() - began) / 1_000);
    };
    // The error of a failed command is ignored here, because the caller of the command handles it.
    command.promise.then(done, done);
    return reply;
  };
}
