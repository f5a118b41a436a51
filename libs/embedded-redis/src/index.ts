/** Embedded Redis for `npm start` and tests. Production code does not import it. */
export { type EmbeddedRedis, type EmbeddedRedisOptions, startEmbeddedRedis } from './embedded-redis.js';
export { findRedisServer, type RedisServerSearch } from './find-redis-server.js';
