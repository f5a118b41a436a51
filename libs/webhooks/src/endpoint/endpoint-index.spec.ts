import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EVENT_TYPES, type LoggedEvent } from '#events';
import { EndpointIndex, isEventForEndpoint, type EndpointFilter } from './endpoint-index.js';

const contacts = fc.constantFrom('c1', 'c2', 'c3', '__proto__');
const filters = fc
  .array(
    fc.record({
      eventTypes: fc.option(
        fc.array(fc.constantFrom('*', 'message.*', 'send.*', ...EVENT_TYPES), { maxLength: 3 }),
      ),
      contactIds: fc.option(fc.array(contacts, { maxLength: 4 })),
    }),
    { maxLength: 8 },
  )
  .map((all) => all.map((filter, n): EndpointFilter => ({ id: `whk_${n}`, ...filter })));
const events = fc.record({
  type: fc.constantFrom(...EVENT_TYPES),
  contactId: fc.option(contacts, { nil: undefined }),
  tested: fc.constantFrom('whk_0', 'whk_1', 'whk_none'),
});

describe('the index of webhooks', () => {
  it('finds exactly the webhooks whose filter matches an event', () => {
    fc.assert(
      fc.property(filters, events, (endpoints, { type, contactId, tested }) => {
        const event: LoggedEvent = {
          ...{ id: 'evt_1', type, timestamp: '', account: 'default', sequence: 1, position: '1-1' },
          ...(contactId === undefined ? {} : { contactId }),
          data: JSON.stringify({ webhookId: tested }),
        };
        const expected = endpoints
          .filter((endpoint) => isEventForEndpoint(endpoint, event))
          .map(({ id }) => id);
        expect(new EndpointIndex(endpoints).matching(event).sort()).toEqual(expected.sort());
      }),
    );
  });
});
