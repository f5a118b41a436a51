import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import type { WorkerCore } from './compose.js';
import { CORE } from './tokens.js';

/**
 * Provides the objects that more than one role uses, starts and stops the watch of the accounts, and ends the
 * subscriptions of the process.
 */
@Global()
@Module({})
export class CoreModule implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  constructor(@Inject(CORE) private readonly core: Pick<WorkerCore, 'watch' | 'upstream' | 'channels'>) {
    const { watch, upstream } = core;
    watch.follow({
      removed: (account) => {
        upstream.forget(account);
      },
    });
  }

  static register(core: WorkerCore): DynamicModule {
    return { module: CoreModule, providers: [{ provide: CORE, useValue: core }], exports: [CORE] };
  }

  onApplicationBootstrap(): void {
    this.core.watch.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.core.watch.stop();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.core.channels.close();
  }
}
