import type { ProcessInstance, Logger } from '#platform';
import type { TracingEnvironment } from './otel-tracing.js';
import type { Tracing } from './tracing.js';

/**
 * Starts tracing if `OTEL_EXPORTER_OTLP_ENDPOINT` is set; otherwise resolves to undefined, without loading
 * OpenTelemetry.
 */
export async function startTracing(
  service: string,
  instance: ProcessInstance,
  environment: TracingEnvironment,
  logger: Logger,
): Promise<Tracing | undefined> {
  if (environment.OTEL_EXPORTER_OTLP_ENDPOINT === '') return undefined;
  const { OtelTracing } = await import('./otel-tracing.js');
  return new OtelTracing(service, instance, environment, logger);
}
