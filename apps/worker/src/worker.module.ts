import { type DynamicModule, Module } from '@nestjs/common';
import { composeCore } from './compose.js';
import { CoreModule } from './core.module.js';
import { DispatchModule } from './dispatch/dispatch.module.js';
import { HealthModule } from './health/health.module.js';
import type { OpenedResources } from './opened.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { PollModule } from './poll/poll.module.js';
import { RelayModule } from './relay/relay.module.js';

const ROLES = { relay: RelayModule, poll: PollModule, dispatch: DispatchModule } as const;

/** The root module of a worker: the shared modules and the modules of the configured roles. */
@Module({})
export class WorkerModule {
  static register(opened: OpenedResources): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        CoreModule.register(composeCore(opened)),
        HealthModule,
        MetricsModule,
        ...opened.environment.WORKER_ROLES.map((role) => ROLES[role]),
      ],
    };
  }
}
