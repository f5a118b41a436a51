import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

/** A span as the collector received it. Ids are hexadecimal. */
export interface CollectedSpan {
  /** The attribute `service.name` of the process that recorded the span. */
  service: string;
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentSpanId: string;
  name: string;
  /** `SPAN_KIND_SERVER` and the like, by number. */
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Readonly<Record<string, string | number | boolean>>;
  links: readonly string[];
  error: string | undefined;
}

/** The part of the OTLP protocol that is needed to read spans. */
const PROTOCOL = protobuf
  .parse(
    `syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
  }
  message Link { bytes trace_id = 1; bytes span_id = 2; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }`,
  )
  .root.lookupType('Request');

interface WireRequest {
  resourceSpans: { resource: { attributes: WireAttribute[] }; scopeSpans: { spans: WireSpan[] }[] }[];
}
interface WireSpan {
  traceId: Buffer;
  spanId: Buffer;
  parentSpanId: Buffer;
  name: string;
  kind: number;
  start: number;
  end: number;
  attributes: WireAttribute[];
  links: { traceId: Buffer }[];
  status?: { message: string; code: number };
}
interface WireAttribute {
  key: string;
  value: Record<string, string | number | boolean>;
}

/** A collector of traces, which receives spans over OTLP as HTTP with protobuf. */
export class TraceCollector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  /** Headers of the last request. */
  headers: IncomingHttpHeaders = {};
  /** If true, the collector accepts requests and never answers. */
  isHanging = false;

  private constructor(
    private readonly server: Server,
    /** Value of `OTEL_EXPORTER_OTLP_ENDPOINT`. */
    readonly endpoint: string,
  ) {}

  static async start(): Promise<TraceCollector> {
    const server = createServer();
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const { port } = server.address() as AddressInfo;
    const collector = new TraceCollector(server, `http://127.0.0.1:${port}`);
    server.on('request', (request, response) => {
      if (collector.isHanging) return;
      collector.receive(request).then(
        () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(),
        (error: unknown) => response.writeHead(400).end(String(error)),
      );
    });
    return collector;
  }

  /** The spans of one trace. */
  trace(traceId: string): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private async receive(request: IncomingMessage): Promise<void> {
    if (request.url !== '/v1/traces') throw new Error(`unexpected path ${request.url ?? ''}`);
    this.headers = request.headers;
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const decoded = PROTOCOL.toObject(PROTOCOL.decode(Buffer.concat(chunks)), {
      longs: Number,
      arrays: true,
      objects: true,
      bytes: Buffer,
    }) as WireRequest;
    for (const { resource, scopeSpans } of decoded.resourceSpans) {
      const service = String(attributesOf(resource.attributes)['service.name']);
      for (const { spans } of scopeSpans)
        this.spans.push(...spans.map((span) => collectedSpan(service, span)));
    }
  }
}

function collectedSpan(service: string, span: WireSpan): CollectedSpan {
  return {
    service,
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    name: span.name,
    kind: span.kind,
    startMs: span.start / 1e6,
    endMs: span.end / 1e6,
    attributes: attributesOf(span.attributes),
    links: span.links.map(({ traceId }) => hex(traceId)),
    error: span.status?.code === 2 ? span.status.message : undefined,
  };
}

function hex(bytes: Buffer | undefined): string {
  return Buffer.from(bytes ?? []).toString('hex');
}

function attributesOf(attributes: readonly WireAttribute[]): CollectedSpan['attributes'] {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? '']));
}
