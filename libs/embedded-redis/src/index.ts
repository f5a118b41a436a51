/** A Redis server of our own beside the product, for `npm start` and tests. Nothing that runs in production imports it. */
export { type EmbeddedRedis, type EmbeddedRedisOptions, startEmbeddedRedis } from './embedded-redis.js';
export { findRedisServer, type RedisServerSearch } from './find-redis-server.js';
