import { type Event, signWebhook } from '#client';
import { combineAbortSignals } from '#platform';

/** What a receiver answered to a forwarded event. */
export interface Forwarded {
  /** HTTP status of the answer. */
  status: number;
  /** First characters of the answer's body. */
  reply: string;
  durationMs: number;
}

/** Where events are forwarded to. */
export interface ForwardTarget {
  url: string;
  /** Signing secret of the deliveries, `whsec_…`. */
  secret: string;
  /** Time limit for the receiver's answer, in milliseconds. */
  timeoutMs: number;
  /** Replaces the global `fetch` in tests. */
  fetch?: typeof fetch;
}

/** Maximum number of bytes of a reply that are read. */
const MAX_REPLY_BYTES = 1_024;

/** Posts events to a local address, with the same body and signature as a delivery of the gateway to a webhook. */
export class Forwarder {
  constructor(private readonly target: ForwardTarget) {}

  /**
   * Posts one event. Any answer counts as an outcome.
   * @throws the error of `fetch` if there is no answer
   */
  async forward(event: Event, signal: AbortSignal): Promise<Forwarded> {
    const { timeoutMs } = this.target;
    const timeout = new AbortController();
    const timer = setTimeout(() => {
      timeout.abort();
    }, timeoutMs);
    // `AbortSignal.any` would leak some bytes per event, and the garbage collector could remove the time limit.
    const combined = combineAbortSignals(signal, timeout.signal);
    try {
      return await this.post(event, combined.signal);
    } catch (error) {
      if (!timeout.signal.aborted) throw error;
      throw new Error(`no answer within ${timeoutMs} ms`, { cause: error });
    } finally {
      clearTimeout(timer);
      combined.release();
    }
  }

  private async post(event: Event, signal: AbortSignal): Promise<Forwarded> {
    const { url, secret } = this.target;
    const body = JSON.stringify(event);
    const startedAt = performance.now();
    const response = await (this.target.fetch ?? fetch)(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'tidings-listen',
        ...(await signWebhook(body, { id: event.id, secret })),
      },
      body,
      redirect: 'manual',
      signal,
    });
    const reply = await firstBytes(response);
    return { status: response.status, reply, durationMs: performance.now() - startedAt };
  }
}

async function firstBytes(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  let bytes = new Uint8Array();
  try {
    // The status is the outcome, even if the rest of the reply does not arrive.
    while (bytes.length < MAX_REPLY_BYTES) {
      const { done, value: chunk } = (await reader.read()) as { done: boolean; value?: Uint8Array };
      if (done || chunk === undefined) break;
      const joined = new Uint8Array(bytes.length + chunk.length);
      joined.set(bytes);
      joined.set(chunk, bytes.length);
      bytes = joined;
    }
  } catch {
    // The part of the reply that has arrived is shown.
  } finally {
    // The rest of a long reply is not needed. If the connection cannot be closed, it is closed already.
    await reader.cancel().catch(() => undefined);
  }
  return new TextDecoder().decode(bytes.subarray(0, MAX_REPLY_BYTES));
}
