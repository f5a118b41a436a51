import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { SamplerName } from '#platform';

const ROOTS: Readonly<Record<string, (ratio: number) => Sampler>> = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
};

const PARENT_BASED = 'parentbased_';

/**
 * Creates the trace sampler with the given name. OpenTelemetry specifies the names.
 * @param ratio share of the traces to record, from 0 to 1; used only by samplers whose name ends with `traceidratio`
 */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  const isParentBased = name.startsWith(PARENT_BASED);
  const root = ROOTS[isParentBased ? name.slice(PARENT_BASED.length) : name]?.(ratio);
  if (root === undefined) throw new Error(`unknown sampler: ${name}`);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}
