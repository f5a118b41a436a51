import { type EmbeddedRedis, startEmbeddedRedis } from '#embedded-redis';
import type { OutputRecorder } from './output-recorder.js';
import type { Run, Service } from './service.js';

/** Runs the embedded Redis. A restart uses the same address and the same data. */
export class RedisService implements Service {
  readonly name = 'redis';
  private redis: EmbeddedRedis | undefined;

  constructor(
    private readonly dataDirectory: string,
    private readonly recorder: OutputRecorder,
  ) {}

  /** Address of Redis. Available after the first start. */
  get url(): string {
    if (this.redis === undefined)
      throw new Error('internal error: the address of Redis was read before Redis was started');
    return this.redis.url;
  }

  async run(signal: AbortSignal, forceStop: AbortSignal): Promise<Run> {
    if (this.redis === undefined) {
      const log = (line: string): void => {
        this.recorder.record(line);
      };
      this.redis = await startEmbeddedRedis({ dataDirectory: this.dataDirectory, log, signal });
    } else {
      await this.redis.restart(signal);
    }
    const redis = this.redis;
    if (signal.aborted) await stopRedis(redis, forceStop);
    return {
      port: redis.port,
      ended: redis.exited.then(({ code, signal: by }) => by ?? `exit status ${String(code)}`),
      stop: () => stopRedis(redis, forceStop),
    };
  }
}

/** Stops Redis in order, or kills it when `forceStop` aborts. In both cases, every acknowledged write is on disk. */
async function stopRedis(redis: EmbeddedRedis, forceStop: AbortSignal): Promise<void> {
  const kill = (): void => {
    redis.kill('SIGKILL');
  };
  if (forceStop.aborted) kill();
  forceStop.addEventListener('abort', kill, { once: true });
  await redis.stop();
  forceStop.removeEventListener('abort', kill);
}
