import { join } from 'node:path';
import { addressFor } from '#platform';
import { ChildService } from './child-service.js';
import type { Addresses } from './greeting.js';
import { Supervisor } from './supervisor.js';
import { OutputRecorder } from './output-recorder.js';
import { type Environment, isSet, type Paths, productEnvironment, simulatorEnvironment } from './plan.js';
import { RedisService } from './redis-service.js';
import type { Secrets } from './secrets.js';
import type { Service } from './service.js';

/** What an installation needs to start. */
export interface InstallationOptions {
  paths: Paths;
  secrets: Secrets;
  /** Environment of this process. Its values take precedence over defaults. */
  environment: Environment;
  print: (line: string) => void;
  onFailure: (error: unknown) => void;
  forceStop: AbortSignal;
}

/** Redis, the simulator, the gateway and the worker, run on this machine. */
export class Installation {
  private readonly recorders: OutputRecorder[] = [];
  /** The started services by rank. A service needs the services of lower ranks. */
  private readonly ranks: Supervisor[][] = [[], [], []];
  private stopped = false;

  constructor(private readonly options: InstallationOptions) {}

  /** Starts all services, those of one rank in parallel. Resolves when all services accept requests. */
  async start(): Promise<Addresses> {
    const { environment, secrets, paths } = this.options;
    const [redisUrl, simulator] = await Promise.all([this.startRedis(), this.startSimulator()]);
    const product = productEnvironment(environment, secrets, paths, {
      ...(redisUrl === undefined ? {} : { redisUrl }),
      ...(simulator === undefined ? {} : { simulator }),
    });
    const [gateway, worker] = await Promise.all([
      this.startProgram(2, 'gateway', product),
      this.startProgram(2, 'worker', product),
    ]);
    return {
      gateway: addressFor(environment['HOST'], gateway),
      worker: addressFor(environment['WORKER_HOST'], worker),
      ...(simulator === undefined ? {} : { simulator }),
    };
  }

  /** Stops all started services, the highest rank first, so that no service loses a service that it needs. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const rank of [...this.ranks].reverse())
      await Promise.all(rank.map((supervisor) => supervisor.stop()));
    for (const recorder of this.recorders) recorder.close();
  }

  private async startRedis(): Promise<string | undefined> {
    const { environment, paths } = this.options;
    if (isSet(environment, 'REDIS_URL')) return undefined;
    const redis = new RedisService(join(paths.data, 'redis'), this.newRecorder('redis'));
    await this.startSupervised(0, redis);
    return redis.url;
  }

  private async startSimulator(): Promise<string | undefined> {
    const { environment, secrets, paths } = this.options;
    if (isSet(environment, 'UPSTREAM_BASE_URL')) return undefined;
    const settings = simulatorEnvironment(environment, secrets, paths);
    return addressFor(environment['SIMULATOR_HOST'], await this.startProgram(1, 'simulator', settings));
  }

  private startProgram(rank: number, name: string, environment: Environment): Promise<number> {
    const { root } = this.options.paths;
    const script = join(root, 'dist', `${name}.js`);
    const program = { name, script, environment, directory: root };
    return this.startSupervised(rank, new ChildService(program, this.newRecorder(name)));
  }

  private async startSupervised(rank: number, service: Service): Promise<number> {
    if (this.stopped) throw new Error('stopped');
    const { print, onFailure, forceStop } = this.options;
    const supervisor = new Supervisor(service, { print, onFailure, forceStop });
    this.ranks[rank]?.push(supervisor);
    return await supervisor.start();
  }

  private newRecorder(name: string): OutputRecorder {
    const recorder = new OutputRecorder(
      name,
      join(this.options.paths.data, 'logs', `${name}.log`),
      this.options.print,
    );
    this.recorders.push(recorder);
    return recorder;
  }
}
