/**
 * Infrastructure of every process: configuration, logs, life cycle, queues, Redis and time.
 *
 * | | |
 * |---|---|
 * | `calls/`       | calls: intercept, observe, join into batches, skip while an earlier call runs |
 * | `environment/` | environment variables: read and check them once |
 * | `log/`         | the logger; selection of the parts of an error that may be logged; truncation of long texts |
 * | `process/`     | start and stop of a process, its address, readiness, version and instance |
 * | `queue/`       | names and payloads of queues, and the agendas that say what is due |
 * | `redis/`       | the connection to Redis, its requirements, scripts, keys and clock |
 * | `time/`        | clocks, deadlines and waits |
 */
export {
  type Agenda,
  type AgendaTask,
  type AgendaTime,
  type AgendaWakeUps,
  type ScheduledTask,
  type DueTasks,
  ACCOUNT_DUE_TIMES_CHECK_INTERVAL_MS,
  type ClaimedTask,
} from './queue/agenda.js';
export { addressFor } from './process/address-for.js';
export { BackgroundTaskScheduler } from './queue/background-task-scheduler.js';
export { BullmqHintQueue, type Hint } from './queue/bullmq-hint-queue.js';
export { CallBatcher } from './calls/call-batcher.js';
export { type CallInterceptors, interceptMethodCalls } from './calls/intercept-method-calls.js';
export { type CallObservers, type ObservedCall, observeMethodCalls } from './calls/observe-method-calls.js';
export { skipWhileRunning } from './calls/skip-while-running.js';
export { type Clock, clockOfThisMachine } from './time/clock.js';
export { combineAbortSignals } from './time/combine-abort-signals.js';
export { DeadlineError, pause, withDeadline } from './time/deadline.js';
export { type BlobLocation } from './environment/blob-location.js';
export { TRACE_SAMPLERS, type SamplerName } from './environment/samplers.js';
export { ConfigurationError } from './environment/configuration-error.js';
export {
  CommonEnvironment,
  GatewayEnvironment,
  SecretsEnvironment,
  WorkerEnvironment,
} from './environment/environment.js';
export { readEnvironment } from './environment/read-environment.js';
export { KNOWN_ENVIRONMENT_VARIABLES, SECRET_ENVIRONMENT_VARIABLES } from './environment/known-variables.js';
export {
  findUnknownEnvironmentVariables,
  warnAboutUnknownEnvironmentVariables,
} from './environment/unknown-variables.js';
export { parseRedisHashReply } from './redis/hash-reply.js';
export { type IdPrefix, newId, uniqueString } from './ids.js';
export { isRecord } from './is-record.js';
export {
  type ProcessInstance,
  parseProcessInstance,
  heartbeatSetRedisKey,
  formatProcessInstance,
  processesDifferSince,
  namesOfProcessesWithKnownVersion,
  createProcessInstance,
} from './process/process-instance.js';
export { digestSettings } from './process/settings-digest.js';
export { accountKeys, type AccountKeys } from './redis/keys.js';
export { lastSeenRedisRunId } from './redis/redis-run.js';
export { truncateText } from './log/truncate-text.js';
export { type RedactedError, toLoggedError, logMessageOf } from './log/logged-error.js';
export { createLogger, type Logger } from './log/logger.js';
export { type Network, parseNetworks } from './environment/network.js';
export {
  explainListenError,
  type ListenAddress,
  type ProcessHandle,
  type ProcessLog,
  runUntilStopSignal,
  type RunningProcess,
  type StartContext,
  PROCESS_STOP_TIMEOUT_MS,
} from './process/process-lifecycle.js';
export { type QueueName, type QueuePayloads, queueRedisKeyPrefix } from './queue/queues.js';
export { parseRedisAddress, type RedisAddress } from './environment/redis-address.js';
export { closeRedis, connectionErrorOf, openRedis, type RedisClient } from './redis/redis-connection.js';
export {
  okOrDegradedReadiness,
  type Readiness,
  createReadiness,
  type Reason,
  READINESS_REASON_CODES,
  type ReasonCode,
  type ReasonDetail,
} from './process/readiness.js';
export { RedisAgenda } from './queue/redis-agenda.js';
export { RedisAgendaWakeUps } from './queue/redis-agenda-wake-ups.js';
export { type AgendaName, type Agendas, createAgendas } from './queue/redis-agendas.js';
export { type RedisRefusal, redisRefusalOf } from './redis/redis-refusal.js';
export { checkRedisRequirements, isReadOnlyReplica } from './redis/redis-requirements.js';
export { createRedisConnectionErrorLogger, openRedisAndCheckRequirements } from './redis/redis-start.js';
export { NestFrameworkLogger } from './log/nest-framework-logger.js';
export { type ChannelListener, RedisChannelSubscriber } from './redis/redis-channel-subscriber.js';
export { RedisSubscriptionMonitor } from './redis/redis-subscription-monitor.js';
export { RedisClock } from './redis/redis-clock.js';
export { readLiveHeartbeatMembers, RedisHeartbeat, HEARTBEAT_TTL_MS } from './redis/redis-heartbeat.js';
export { isRedisNearlyFull, type RedisMemory, readRedisMemory } from './redis/redis-memory.js';
export { hasAppendOnlyFile } from './redis/redis-persistence.js';
export { TimeLimit } from './time/time-limit.js';
export { type LuaArguments, type LuaKeys, LuaScript } from './redis/redis-lua-script.js';
export { type RedisArgument, EvalshaScript } from './redis/redis-evalsha-script.js';
export { readRedisTime } from './redis/redis-time.js';
export { parseRetryAfter } from './time/retry-after.js';
export { isTraceContext, type TraceContext, traceIdLogField } from './trace-context.js';
export { readVersionWithBuildHash, productVersion } from './process/version.js';
export {
  findRolesWithoutWorker,
  workerHasRole,
  WORKER_ROLES,
  type WorkerRole,
} from './environment/worker-roles.js';
