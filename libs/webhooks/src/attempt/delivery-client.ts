import type { AttemptOutcome } from '../delivery/retry-policy.js';

/** One HTTP POST. */
export interface DeliveryRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** What came of it. A failure is a result, not an exception: it is recorded like any other. */
export interface DeliveryReply extends AttemptOutcome {
  /** The first KB of the reply's body as text. */
  excerpt: string;
}

/** Speaks HTTP to subscribers. */
export interface DeliveryClient {
  /** One exchange, within the client's own deadline. Rejects only when the signal aborts it. */
  post(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryReply>;
  /** Ends all connections. */
  close(): Promise<void>;
}
