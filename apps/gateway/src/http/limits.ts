/** Bounds of what is read from a caller, whom nobody has to trust. Sizes in bytes, times in milliseconds. */
export const LIMITS = {
  /** A JSON body. */
  body: 1_048_576,
  /** All headers of a request together. */
  headers: 16_384,
  /** The headers have to be there by then. */
  headersMs: 15_000,
  /** A body that is no upload has to be there by then. */
  bodyMs: 20_000,
  /** The whole request has to be there by then: the largest upload over a slow line. */
  requestMs: 300_000,
  /** Of an upload, so many bytes have to come in every so long: those of a slow line, not those of a drip. */
  paceMs: 10_000,
  paceBytes: 16_384,
  /** A reply has to be taken by then. */
  takeMs: 60_000,
  /** A connection on which nothing moves is closed, later where upstream may take long; longer than any wait for events. */
  silenceMs: 60_000,
  /** A connection without a request is kept so long. */
  keepAliveMs: 65_000,
  /** Connections at the same time; further ones are closed as they come. */
  connections: 10_000,
  /** A caller who was refused outright has to hang up by then. */
  hangUpMs: 2_000,
  /** One text part of a multipart body. */
  part: 262_144,
  /** The name of a path parameter's value, in characters. */
  parameter: 512,
  /** What is still read of a body that was refused, so that the caller gets to read the answer. */
  drain: 33_554_432,
} as const;
