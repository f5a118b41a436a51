/**
 * Tracing with OpenTelemetry; the spans are exported over OTLP. Only the apps import this lib. The other libs create no
 * spans; they only pass on the trace context of a send, an event or a delivery.
 *
 * | | |
 * |---|---|
 * | `tracing.ts`      | the interfaces of tracing, independent of OpenTelemetry |
 * | `start-tracing.ts` | starts tracing, if it is configured |
 * | `otel-*.ts`       | the implementation with OpenTelemetry |
 * | `*-tracer.ts`     | the spans of the relay, the polls and the deliveries |
 */
export { DeliveryTracer } from './delivery-tracer.js';
export { FeedTracer } from './feed-tracer.js';
export { startTracing } from './start-tracing.js';
export { RelayTracer } from './relay-tracer.js';
export { isSampled, type SpanEnd, type TraceSpan, type Tracing } from './tracing.js';
