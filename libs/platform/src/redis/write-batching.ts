import type { Writable } from 'node:stream';

/** Maximum number of commands that wait for one system call. More would keep Redis waiting while this process works. */
const MAX_COMMANDS = 16;

/**
 * Sends what is written to a stream in one turn of the event loop with one system call, or with one for every
 * {@link MAX_COMMANDS} writes. The Redis client writes each command by itself, and a system call takes longer than all
 * else that a command costs this process.
 */
export function batchWritesTo(stream: Writable): void {
  const write = stream.write.bind(stream) as (...parameters: unknown[]) => boolean;
  let waiting = 0;
  const flush = (): void => {
    waiting = 0;
    stream.uncork();
  };
  stream.write = (...parameters: unknown[]): boolean => {
    if (waiting === 0) {
      stream.cork();
      setImmediate(() => {
        if (waiting > 0) flush();
      });
    }
    waiting += 1;
    const isBelowMark = write(...parameters);
    if (waiting >= MAX_COMMANDS) flush();
    return isBelowMark;
  };
}
