/** The samplers that OpenTelemetry specifies for `OTEL_TRACES_SAMPLER`. */
export const TRACE_SAMPLERS = [
  'parentbased_always_on',
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export type SamplerName = (typeof TRACE_SAMPLERS)[number];
