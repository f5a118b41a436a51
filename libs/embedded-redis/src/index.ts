/**
 * Starts a private Redis server for `npm start` and for tests. Production code does not import this library.
 */
export { type EmbeddedRedis, type EmbeddedRedisOptions, startEmbeddedRedis } from './embedded-redis.js';
export { findRedisServer, type RedisServerSearch } from './find-redis-server.js';
export { findFreePort } from './free-port.js';
