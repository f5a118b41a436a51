import type { TraceContext } from '#platform';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Options for the start of a span. */
export interface SpanStart {
  /** Role of the span in an exchange between processes. Default: `internal`, for work within one process. */
  kind?: 'internal' | 'server' | 'client' | 'producer';
  /** Context of the span that caused this span. Without a parent, the span is the first of a new trace. */
  parent?: TraceContext | undefined;
  /** Context of a related span in another trace. */
  link?: TraceContext | undefined;
  /** Returns the attributes of the span. Called only if the span is recorded. */
  attributes?: () => Attributes;
  /** How long ago the span began, in milliseconds. Default: it begins now. */
  startedMsAgo?: number;
}

/** What is known about a span only when it ends. */
export interface SpanEnd {
  /** Why the work of the span failed. It must contain no secret and no text of a message. */
  error?: string;
  attributes?: Attributes;
}

/** A piece of work that is being traced. A span that is never ended is not exported, and needs no clean-up. */
export interface TraceSpan {
  /** Trace context for everything that this work causes, such as child spans. */
  readonly context: TraceContext;
  /**
   * @param end returns the attributes of the span, and the error if the work failed; called only if the span is
   * recorded
   */
  end(end?: () => SpanEnd): void;
}

/** Traces the work of one process. */
export interface Tracing {
  /**
   * Returns true if a span with this parent may be recorded. If not, the caller needs no span, and can pass on the
   * context of the parent instead.
   */
  mayRecord(parent: TraceContext): boolean;

  start(name: string, start?: SpanStart): TraceSpan;

  /** Exports the spans that are not exported yet, and stops tracing. The time for the export is limited. */
  close(): Promise<void>;
}

/** Returns true if the span of this context is sampled, which means that the span is recorded and exported. */
export function isSampled(context: TraceContext): boolean {
  return (Number.parseInt(context.slice(-2), 16) & 1) === 1;
}
