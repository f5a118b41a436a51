import type { Redis } from 'ioredis';
import type { RedisClient } from '#platform';

/**
 * Reports every command of a connection to Redis after its reply: the command's name in lower case and the time until
 * the reply, in seconds, including the wait for a lost connection.
 * @param observe called after each reply; it must not throw
 */
export function observeRedisCommands(
  redis: RedisClient,
  observe: (command: string, seconds: number) => void,
): void {
  type SendCommand = Redis['sendCommand'];
  const client = redis as { sendCommand: SendCommand };
  const send = client.sendCommand.bind(redis);
  client.sendCommand = (command, ...more) => {
    const began = performance.now();
    const reply = send(command, ...more);
    const done = (): void => {
      observe(command.name.toLowerCase(), (performance.now() - began) / 1_000);
    };
    // The caller handles a failed command.
    command.promise.then(done, done);
    return reply;
  };
}
