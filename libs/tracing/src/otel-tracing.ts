import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import {
  type CommonEnvironment,
  type ProcessInstance,
  type Logger,
  type TraceContext,
  withDeadline,
} from '#platform';
import { createSampler } from './otel-samplers.js';
import { isSampled, type SpanEnd, type SpanStart, type TraceSpan, type Tracing } from './tracing.js';

/** Maximum duration of one export, including its retries, in milliseconds. */
const EXPORT_TIMEOUT_MS = 5_000;
/** Maximum time that a stopping process waits for its last export, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;
/** Minimum time between two log lines about failed exports, in milliseconds. */
const WARN_EVERY_MS = 60_000;

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
} as const;

/** Implements {@link Tracing} with OpenTelemetry, and exports the spans over OTLP. */
export class OtelTracing implements Tracing {
  private readonly provider: TracerProvider;
  private readonly tracer: Tracer;
  /** True if the sampler never records a span whose parent is not recorded. */
  private readonly followsParents: boolean;

  /**
   * @param service name of the service in the traces. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override it.
   */
  constructor(
    service: string,
    { name, version }: ProcessInstance,
    environment: TracingEnvironment,
    private readonly logger: Logger,
  ) {
    const exporter = new OTLPTraceExporter({
      url: `${environment.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`,
      timeoutMillis: EXPORT_TIMEOUT_MS,
    });
    this.followsParents = environment.OTEL_TRACES_SAMPLER.startsWith('parentbased_');
    this.provider = new TracerProvider({
      sampler: createSampler(environment.OTEL_TRACES_SAMPLER, environment.OTEL_TRACES_SAMPLER_ARG),
      resource: resourceFromAttributes({
        'service.name': service,
        'service.namespace': 'tidings',
        'service.instance.id': name,
        ...(version === undefined ? {} : { 'service.version': version }),
      }).merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor({ exporter: loggedExporter(exporter, logger) })],
    });
    this.tracer = this.provider.getTracer('tidings', version);
  }

  mayRecord(parent: TraceContext): boolean {
    return !this.followsParents || isSampled(parent);
  }

  start(name: string, start: SpanStart = {}): TraceSpan {
    const { kind = 'internal', parent, link, startedMsAgo = 0 } = start;
    if (parent !== undefined && !this.mayRecord(parent)) return new UnrecordedSpan(parent);
    const span = this.tracer.startSpan(
      name,
      {
        kind: KINDS[kind],
        ...(link === undefined ? {} : { links: [{ context: parseContext(link) }] }),
        ...(startedMsAgo === 0 ? {} : { startTime: Date.now() - startedMsAgo }),
      },
      parentContext(parent),
    );
    if (!span.isRecording()) return new UnrecordedSpan(formatContext(span.spanContext()));
    if (start.attributes !== undefined) span.setAttributes({ ...start.attributes() });
    return new RecordedSpan(span);
  }

  async close(): Promise<void> {
    try {
      await withDeadline(this.provider.shutdown(), CLOSE_TIMEOUT_MS, 'the last export of spans');
    } catch (error) {
      this.logger.warn({ err: error }, 'could not export the last trace spans before the process stopped');
    }
  }
}

/** The environment variables that tracing uses. */
export type TracingEnvironment = Pick<
  CommonEnvironment,
  'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'
>;

class RecordedSpan implements TraceSpan {
  readonly context: TraceContext;

  constructor(private readonly span: Span) {
    this.context = formatContext(span.spanContext());
  }

  end(end?: () => SpanEnd): void {
    const { error, attributes } = end?.() ?? {};
    if (attributes !== undefined) this.span.setAttributes({ ...attributes });
    if (error !== undefined) this.span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    this.span.end();
  }
}

/** A span that the sampler has not selected. Its child spans continue the trace, and are not recorded either. */
class UnrecordedSpan implements TraceSpan {
  constructor(readonly context: TraceContext) {}

  end(): void {
    // The sampler did not select the span, so it is not exported.
  }
}

function formatContext({ traceId, spanId, traceFlags }: SpanContext): TraceContext {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function parentContext(parent: TraceContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parseContext(parent));
}

function parseContext(text: TraceContext): SpanContext {
  const [, traceId = '', spanId = '', flags = ''] = text.split('-');
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

/** Returns an exporter that works like the given one and logs failures, at most one per {@link WARN_EVERY_MS}. */
function loggedExporter(exporter: SpanExporter, logger: Logger): SpanExporter {
  let quietUntil = -Infinity;
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        if (result.error !== undefined && performance.now() >= quietUntil) {
          quietUntil = performance.now() + WARN_EVERY_MS;
          logger.warn({ err: result.error }, 'could not export trace spans; the spans are lost');
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
