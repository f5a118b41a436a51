import { findRedisServer } from '#embedded-redis';

let path: Promise<string> | undefined;

/**
 * Returns the path of the Redis server program. Searches once per Jest worker, because each search starts the program.
 *
 * @throws {Error} that says why no suitable program was found
 */
export function redisProgram(): Promise<string> {
  path ??= findRedisServer().then((search) => {
    if (search.found) return search.path;
    path = undefined;
    throw new Error(search.reason);
  });
  return path;
}
