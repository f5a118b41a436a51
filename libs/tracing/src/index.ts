/**
 * Traces by OpenTelemetry, exported over OTLP. Only the apps import this lib: the other libs do not trace themselves,
 * they only pass on the trace context of a send, an event or a delivery.
 *
 * | | |
 * |---|---|
 * | `tracing.ts`      | what a trace is to the rest of the code |
 * | `open-tracing.ts` | starts tracing, if it is configured |
 * | `otel-*.ts`       | the implementation by OpenTelemetry |
 * | `*-traces.ts`     | what is traced of the relay, the polls and the deliveries |
 */
export { DeliveryTraces } from './delivery-traces.js';
export { FeedTraces } from './feed-traces.js';
export { openTracing } from './open-tracing.js';
export { RelayTraces } from './relay-traces.js';
export { isSampled, type TraceSpan, type Tracing } from './tracing.js';
