import type { AttemptOutcome } from '../delivery/retry-policy.js';

/** One HTTP POST of an event to a webhook. */
export interface DeliveryRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** Outcome of one POST. A failed request is returned as an outcome and not thrown as an error. */
export interface DeliveryReply extends AttemptOutcome {
  /** First 1,024 bytes of the reply's body, as text. Empty if there is no reply or no body. */
  excerpt: string;
}

/** HTTP client for deliveries. */
export interface DeliveryClient {
  /** Posts one request within the client's own timeout. Rejects only if `signal` aborts the request. */
  post(request: DeliveryRequest, signal: AbortSignal): Promise<DeliveryReply>;
}
