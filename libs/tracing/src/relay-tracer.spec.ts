import { describe, expect, it } from '@jest/globals';
import type { RelayStore, SendRecord, StateChange } from '#relay';
import { RelayTracer } from './relay-tracer.js';
import type { Tracing } from './tracing.js';

const SAMPLED = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Returns the names of the spans of the given transitions of a send whose look-ups are under way. */
async function spansOf(...transitions: StateChange['transition'][]): Promise<string[]> {
  const names: string[] = [];
  const tracing = {
    start: (name: string) => {
      names.push(name);
      return { context: SAMPLED, end: () => undefined };
    },
  } as unknown as Tracing;
  const record = {
    order: { id: 'snd_1', trace: SAMPLED },
    state: { status: 'relaying', phase: 'looking', updatedAt: 1_000, attempts: [] },
  } as unknown as SendRecord;
  const store = { apply: () => Promise.resolve(record) } as unknown as RelayStore;
  const observed = new RelayTracer(tracing).observeStore(store);
  for (const transition of transitions)
    await observed.apply('default', record, { transition, state: record.state, laneDueInMs: 0 });
  return names;
}

describe('the trace of a send', () => {
  it('has one span for a look-up, although the start and the end of the look-up are two transitions', async () => {
    expect(await spansOf('lookup_begun', 'search_continued')).toEqual(['send look-up']);
  });

  it('has a span for the look-up that finds the message', async () => {
    expect(await spansOf('lookup_begun', 'found')).toEqual(['send look-up']);
  });
});
