/**
 * The position in a trace as text: the value of the W3C header `traceparent`, for example
 * `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`. The parts are the version, the id of the trace, the id
 * of the parent span, and flags. A context is stored with a send or an event, so that other processes continue the
 * trace.
 */
export type TraceContext = string;

const TRACEPARENT = /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;

/** Returns true if the text is a valid trace context. */
export function isTraceContext(text: unknown): text is TraceContext {
  return typeof text === 'string' && TRACEPARENT.test(text);
}

/** Returns the field `traceId` of a log line, or no field if there is no trace. */
export function traceIdLogField(trace: TraceContext | undefined): { traceId?: string } {
  return trace === undefined ? {} : { traceId: trace.slice(3, 35) };
}
