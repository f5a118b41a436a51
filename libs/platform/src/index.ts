export {
  type Agenda,
  type AgendaTask,
  type AgendaTime,
  type DatedTask,
  type DueTasks,
  SURVEY_EVERY_MS,
  type TakenTask,
} from './agenda.js';
export { AgendaHints } from './agenda-hints.js';
export { BullmqHintQueue, type Hint } from './bullmq-hint-queue.js';
export { type Clock, systemClock } from './clock.js';
export { DeadlineError, pause, withDeadline } from './deadline.js';
export { type BlobLocation } from './environment/blob-location.js';
export { ConfigurationError } from './environment/configuration-error.js';
export { CommonEnvironment, GatewayEnvironment, WorkerEnvironment } from './environment/environment.js';
export { readEnvironment } from './environment/read-environment.js';
export { warnOfUnknownVariables } from './environment/unknown-variables.js';
export { hashOf } from './hash-reply.js';
export { type IdPrefix, newId } from './ids.js';
export {
  type Instance,
  instanceOf,
  instancesKey,
  memberOf,
  mixedSince,
  namesOf,
  newInstance,
} from './instance.js';
export { accountKeys, type AccountKeys } from './keys.js';
export { type DiscreetError, loggedError, logWords } from './logged-error.js';
export { createLogger, type Logger } from './logger.js';
export { type Network, parseNetworks } from './network.js';
export {
  listenFault,
  type ListenAddress,
  type ProcessHandle,
  type ProcessLog,
  runProcess,
  type RunningProcess,
  type StartContext,
  STOP_WITHIN_MS,
} from './process-lifecycle.js';
export { type QueueName, type QueuePayloads, queuePrefix } from './queues.js';
export { parseRedisAddress, type RedisAddress } from './redis-address.js';
export { closeRedis, openRedis, REDIS_COMMAND_TIMEOUT_MS, type RedisClient } from './redis-connection.js';
export {
  degradedBy,
  type Readiness,
  readinessOf,
  type Reason,
  REASON_CODES,
  type ReasonCode,
  type ReasonDetail,
} from './readiness.js';
export { RedisAgenda } from './redis-agenda.js';
export { type AgendaName, type Agendas, openAgendas } from './redis-agendas.js';
export { checkRedisRequirements } from './redis-requirements.js';
export { oncePerFault, openFitRedis } from './redis-start.js';
export { FrameworkLogger } from './framework-logger.js';
export { RedisClock } from './redis-clock.js';
export { aliveIn, RedisHeartbeat, SEEN_WITHIN_MS } from './redis-heartbeat.js';
export { REDIS_LIFE } from './redis-life.js';
export { isRedisFull } from './redis-memory.js';
export { TimeLimit } from './time-limit.js';
export { RedisScript } from './redis-script.js';
export { redisTime } from './redis-time.js';
export { parseRetryAfter } from './retry-after.js';
export { buildVersion, productVersion } from './version.js';
export { missingRoles, saysRole, type WorkerRole } from './worker-roles.js';
