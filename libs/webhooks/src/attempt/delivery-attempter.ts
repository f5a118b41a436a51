import type { SecretCipher } from '#accounts';
import type { Clock } from '#platform';
import type { DeliveryClient, DeliveryReply } from './delivery-client.js';
import type { ClaimedDelivery } from '../delivery/delivery-store.js';
import type { Attempt } from '../delivery/delivery.js';
import {
  type DeliveryDecision,
  decideNextDeliveryStep,
  type RetryPolicy,
  type Throttling,
  throttlingAfterAttempt,
} from '../delivery/retry-policy.js';
import { signDelivery } from '../endpoint/signature.js';
import { DecryptedSecretCache } from '../endpoint/decrypted-secret-cache.js';
import type { EndpointForDelivery } from '../endpoint/stored-endpoint.js';

/** A finished delivery attempt, the next step of the delivery, and the throttling of the endpoint. */
export interface AttemptResult {
  attempt: Attempt;
  /** What happens to the delivery next. */
  decision: DeliveryDecision;
  /** How the outcome of the attempt slows down further requests to the endpoint. */
  throttling: Throttling;
}

/** Makes one attempt of a delivery: signs the event, posts it, and decides what happens next. */
export class DeliveryAttempter {
  private readonly userAgent: string;
  private readonly secrets: DecryptedSecretCache;

  constructor(
    private readonly client: DeliveryClient,
    cipher: SecretCipher,
    private readonly policy: RetryPolicy,
    private readonly clock: Clock,
    /** Version of the product, sent in the `user-agent` header. */
    version: string,
  ) {
    this.userAgent = `Tidings/${version}`;
    this.secrets = new DecryptedSecretCache(cipher);
  }

  /** Makes one attempt. Rejects only if the signal aborts the attempt. An aborted attempt is not recorded. */
  async attempt(
    endpoint: EndpointForDelivery,
    delivery: ClaimedDelivery,
    signal: AbortSignal,
  ): Promise<AttemptResult> {
    const at = this.clock.now();
    const began = performance.now();
    const { excerpt, ...outcome } = await this.post(endpoint, delivery, at, signal);
    const attempt: Attempt = {
      at: new Date(at).toISOString(),
      durationMs: Math.round(performance.now() - began),
      statusCode: outcome.statusCode,
      reply: excerpt,
      error: outcome.error,
    };
    const now = this.clock.now();
    return {
      attempt,
      decision: decideNextDeliveryStep(this.policy, delivery.attempts + 1, outcome, now),
      throttling: throttlingAfterAttempt(outcome, now),
    };
  }

  private async post(
    endpoint: EndpointForDelivery,
    delivery: ClaimedDelivery,
    at: number,
    signal: AbortSignal,
  ): Promise<DeliveryReply> {
    const timestamp = Math.floor(at / 1000);
    let signature: string;
    let own: Readonly<Record<string, string>>;
    try {
      const keys = this.secrets.signingKeysAt(endpoint, at);
      signature = signDelivery(keys, delivery.eventId, timestamp, delivery.body);
      own = this.secrets.headersOf(endpoint);
    } catch (error) {
      // The secrets or headers could not be decrypted. Nothing is sent without them. A retry can succeed once the
      // encryption key is restored.
      return { statusCode: null, retryAfter: null, error: String(error), excerpt: '' };
    }
    const headers = {
      ...own,
      'content-type': 'application/json',
      'user-agent': this.userAgent,
      'webhook-id': delivery.eventId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signature,
      ...(delivery.trace === undefined ? {} : { traceparent: delivery.trace }),
    };
    return await this.client.post({ url: endpoint.url, headers, body: delivery.body }, signal);
  }
}
