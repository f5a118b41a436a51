/** Limits for requests of callers, who are not trusted. Sizes are in bytes and times in milliseconds. */
export const LIMITS = {
  /** Maximum size of a JSON body. */
  bodyBytes: 1_048_576,
  /** Maximum size of a JSON body that does not count towards the limits for all JSON bodies together. */
  smallBodyBytes: 16_384,
  /** Maximum size of a response that does not count towards the limits for all responses together. */
  smallReplyBytes: 65_536,
  /** Maximum size of all headers of a request together. */
  headersBytes: 16_384,
  /** Timeout for the headers of a request. */
  headersMs: 15_000,
  /** Timeout for a body that is not a multipart form. */
  bodyMs: 20_000,
  /** Timeout for a whole request: long enough for the largest upload over a slow connection. */
  requestMs: 300_000,
  /** Period in which an upload must deliver `paceBytes`. */
  paceMs: 10_000,
  /** Minimum number of bytes of an upload per `paceMs`. */
  paceBytes: 16_384,
  /** Timeout for the caller to read a response. */
  responseMs: 60_000,
  /** Minimum idle timeout of a connection: longer than a wait for events. A long upstream timeout extends it. */
  idleMs: 60_000,
  /** Time for which a connection without a request stays open. */
  keepAliveMs: 65_000,
  /** Maximum number of simultaneous connections. Further connections are closed. */
  connections: 10_000,
  /** Time between an early error response and the forced close of its connection. */
  hangUpMs: 2_000,
  /** Maximum size of one text part of a multipart body. */
  partBytes: 262_144,
  /**
   * Maximum size of all text parts of a multipart body together. They stay in memory while the caller sends the rest, and
   * many callers may do that at once. The longest message has 262,144 bytes.
   */
  allPartsBytes: 393_216,
  /** Size of the buffer of a part of a multipart body that is being read. */
  partBufferBytes: 262_144,
  /** Maximum length of a path parameter, in characters. */
  parameterLength: 512,
  /** Maximum size of the rest of a rejected body that is read and dropped, so that the caller can read the response. */
  drainBytes: 33_554_432,
} as const;
