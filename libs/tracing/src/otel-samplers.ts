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
 * Returns the sampler with a name that OpenTelemetry specifies.
 * @param ratio share of the traces that a sampler by ratio records, from 0 to 1
 */
export function samplerNamed(name: SamplerName, ratio: number): Sampler {
  const isParentBased = name.startsWith(PARENT_BASED);
  const root = ROOTS[isParentBased ? name.slice(PARENT_BASED.length) : name]?.(ratio);
  if (root === undefined) throw new Error(`there is no sampler ${name}`);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}
