import { describe, expect, it } from '@jest/globals';
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { SamplingDecision } from '@opentelemetry/sdk-trace';
import { TRACE_SAMPLERS, type SamplerName } from '#platform';
import { createSampler } from './otel-samplers.js';

const LOW = '00000000000000000000000000000001';
const HIGH = '00ffffff0000000000ffffffffffffff';

/**
 * Returns true if the sampler records a span of the trace. `parent` is true if the span's parent is recorded, false if
 * it is not recorded, and undefined if the span has no parent.
 */
function records(name: SamplerName, ratio: number, traceId: string, parent?: boolean): boolean {
  const context =
    parent === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, {
          traceId,
          spanId: 'b7ad6b7169203331',
          traceFlags: parent ? 1 : 0,
          isRemote: true,
        });
  const { decision } = createSampler(name, ratio).shouldSample(
    context,
    traceId,
    'a',
    SpanKind.SERVER,
    {},
    [],
  );
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}

describe('the trace sampler', () => {
  it.each(TRACE_SAMPLERS.filter((name) => name.startsWith('parentbased')))(
    '%s records a span if and only if the caller recorded the trace, whatever the ratio is',
    (name) => {
      expect(records(name, 0, LOW, true)).toBe(true);
      expect(records(name, 1, LOW, false)).toBe(false);
    },
  );

  it.each([
    ['always_on', 'every trace', true, true],
    ['always_off', 'no trace', false, false],
    ['traceidratio', 'only traces with low ids', true, false],
    ['parentbased_always_on', 'every trace', true, true],
    ['parentbased_always_off', 'no trace', false, false],
    ['parentbased_traceidratio', 'only traces with low ids', true, false],
  ] as const)('"%s" with the ratio 0.5 records %s if no caller began the trace', (name, _, low, high) => {
    expect([records(name, 0.5, LOW), records(name, 0.5, HIGH)]).toEqual([low, high]);
  });
});
