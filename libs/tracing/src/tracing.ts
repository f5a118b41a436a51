import type { TraceContext } from '#platform';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** How a span begins. */
export interface SpanStart {
  /** Role of the span in an exchange between processes. Default: `internal`, which is no exchange. */
  kind?: 'internal' | 'server' | 'client' | 'producer';
  /** What caused the span. Without a parent, the span is the first of a new trace. */
  parent?: TraceContext | undefined;
  /** A related position in another trace. */
  link?: TraceContext | undefined;
  /** Called only if the span is recorded. */
  attributes?: () => Attributes;
  /** How long ago the span began, in milliseconds. Default: it begins now. */
  startedMsAgo?: number;
}

/** How a span ends. */
export interface SpanEnd {
  /** Why the work of the span failed. It must contain no secret and no text of a message. */
  error?: string;
  attributes?: Attributes;
}

/** A piece of work that is being traced. A span that is never ended is not exported, and keeps nothing running. */
export interface TraceSpan {
  /** The position in the trace that what follows from this work continues. */
  readonly context: TraceContext;
  /** @param end called only if the span is recorded */
  end(end?: () => SpanEnd): void;
}

/** Traces the work of one process. */
export interface Tracing {
  /** True if a span with this parent may be recorded. If not, what it causes can continue the trace of its parent. */
  mayRecord(parent: TraceContext): boolean;

  start(name: string, start?: SpanStart): TraceSpan;

  /** Exports the remaining spans, within a bounded time, and stops. */
  close(): Promise<void>;
}

/** True if the trace is recorded. The spans of other traces cost time and are exported nowhere. */
export function isSampled(context: TraceContext): boolean {
  return (Number.parseInt(context.slice(-2), 16) & 1) === 1;
}
