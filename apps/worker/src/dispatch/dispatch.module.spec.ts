import { expect, it } from '@jest/globals';
import { PROCESS_STOP_TIMEOUT_MS } from '#platform';
import type { WorkerCore } from '../compose.js';
import type { DispatchRole } from './compose-dispatch.js';
import { DispatchModule } from './dispatch.module.js';

it('a worker that stops waits for slow receivers only so long that the rest of the shutdown has at least five seconds', async () => {
  const waits: number[] = [];
  const role = {
    reader: { stop: () => Promise.resolve() },
    deliveries: { drain: (ms: number) => Promise.resolve(void waits.push(ms)) },
  } as unknown as DispatchRole;
  const core = { watch: { follow: () => undefined } } as unknown as WorkerCore;
  const dispatch = new DispatchModule(core, role);
  dispatch.onModuleDestroy();
  await dispatch.beforeApplicationShutdown();
  expect(waits).toHaveLength(1);
  expect(waits[0]).toBeLessThanOrEqual(PROCESS_STOP_TIMEOUT_MS - 5_000);
});
