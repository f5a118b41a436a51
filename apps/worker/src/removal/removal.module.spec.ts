import { expect, it } from '@jest/globals';
import { DispatchModule } from '../dispatch/dispatch.module.js';
import { PollModule } from '../poll/poll.module.js';
import { RelayModule } from '../relay/relay.module.js';
import { RemovalModule } from './removal.module.js';

it('only workers with the role relay, which check that they share the blob store, remove the data of removed accounts', () => {
  const roles = [RelayModule, PollModule, DispatchModule].filter((role) =>
    (Reflect.getMetadata('imports', role) as unknown[]).includes(RemovalModule),
  );
  expect(roles).toEqual([RelayModule]);
});
