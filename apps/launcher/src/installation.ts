import { join } from 'node:path';
import { ChildService } from './child-service.js';
import type { Addresses } from './greeting.js';
import { Keeper } from './keeper.js';
import { Narrator } from './narrator.js';
import {
  addressFor,
  type Environment,
  isSet,
  type Places,
  productEnvironment,
  simulatorEnvironment,
} from './plan.js';
import { RedisService } from './redis-service.js';
import type { Secrets } from './secrets.js';
import type { Service } from './service.js';

export interface InstallationOptions {
  places: Places;
  secrets: Secrets;
  /** Of this process: what is set there wins. */
  environment: Environment;
  say: (line: string) => void;
  giveUp: (error: unknown) => void;
  hurry: AbortSignal;
}

/** Redis, the simulator, the gateway and the worker on this machine. */
export class Installation {
  private readonly narrators: Narrator[] = [];
  /** What was started, in ranks: what stands in a later one needs the earlier ones. */
  private readonly ranks: Keeper[][] = [[], [], []];
  private stopped = false;

  constructor(private readonly options: InstallationOptions) {}

  /** Starts everything, side by side where nothing needs to wait; resolves when all of it serves. */
  async start(): Promise<Addresses> {
    const { environment, secrets, places } = this.options;
    const [redisUrl, simulator] = await Promise.all([this.startRedis(), this.startSimulator()]);
    const product = productEnvironment(environment, secrets, places, {
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

  /** Stops everything that was started, last first, so that nothing loses what it still needs. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const rank of [...this.ranks].reverse()) await Promise.all(rank.map((keeper) => keeper.stop()));
    for (const narrator of this.narrators) narrator.close();
  }

  private async startRedis(): Promise<string | undefined> {
    const { environment, places } = this.options;
    if (isSet(environment, 'REDIS_URL')) return undefined;
    const redis = new RedisService(join(places.data, 'redis'), this.narrate('redis'));
    await this.keep(0, redis);
    return redis.url;
  }

  private async startSimulator(): Promise<string | undefined> {
    const { environment, secrets, places } = this.options;
    if (isSet(environment, 'UPSTREAM_BASE_URL')) return undefined;
    const settings = simulatorEnvironment(environment, secrets, places);
    return addressFor(environment['SIMULATOR_HOST'], await this.startProgram(1, 'simulator', settings));
  }

  private startProgram(rank: number, name: string, environment: Environment): Promise<number> {
    const { root } = this.options.places;
    const script = join(root, 'dist/apps', name, 'src/main.js');
    const program = { name, script, environment, directory: root };
    return this.keep(rank, new ChildService(program, this.narrate(name)));
  }

  private async keep(rank: number, service: Service): Promise<number> {
    if (this.stopped) throw new Error('stopped');
    const { say, giveUp, hurry } = this.options;
    const keeper = new Keeper(service, { say, giveUp, hurry });
    this.ranks[rank]?.push(keeper);
    return await keeper.start();
  }

  private narrate(name: string): Narrator {
    const narrator = new Narrator(
      name,
      join(this.options.places.data, 'logs', `${name}.log`),
      this.options.say,
    );
    this.narrators.push(narrator);
    return narrator;
  }
}
