import { interceptMethodCalls } from '#platform';
import type { AttemptResult, DeliveryAttempter } from '#webhooks';
import type { Tracing } from './tracing.js';

/** Traces each attempt to deliver an event to a webhook, if the event belongs to a trace. */
export class DeliveryTracer {
  constructor(private readonly tracing: Tracing) {}

  /**
   * Returns an attempter that works like the given one. If a delivery belongs to a trace that may be recorded, starts
   * a span for each attempt. The header `traceparent` of the request then contains the id of this span.
   */
  interceptAttempter(attempter: DeliveryAttempter): DeliveryAttempter {
    return interceptMethodCalls(attempter, {
      attempt: (proceed, endpoint, delivery, signal) =>
        // Start a span only if it may be recorded. With a low sampling rate, most attempts need no span.
        delivery.trace !== undefined && this.tracing.mayRecord(delivery.trace)
          ? this.traced(proceed, endpoint, delivery, signal)
          : proceed(endpoint, delivery, signal),
    });
  }

  private async traced(
    proceed: DeliveryAttempter['attempt'],
    ...[endpoint, delivery, signal]: Parameters<DeliveryAttempter['attempt']>
  ): Promise<AttemptResult> {
    const span = this.tracing.start('deliver event', {
      kind: 'client',
      parent: delivery.trace,
      attributes: () => ({
        'tidings.webhook_id': endpoint.id,
        'tidings.event_id': delivery.eventId,
        'tidings.delivery_id': delivery.id,
        'tidings.attempt': delivery.attempts + 1,
        'http.request.method': 'POST',
        'server.address': new URL(endpoint.url).hostname,
      }),
    });
    // If the attempt is aborted, this call rejects. The span is then never ended, so it is not exported.
    const result = await proceed(endpoint, { ...delivery, trace: span.context }, signal);
    const { statusCode, error } = result.attempt;
    span.end(() => ({
      ...(error === null ? {} : { error }),
      ...(statusCode === null ? {} : { attributes: { 'http.response.status_code': statusCode } }),
    }));
    return result;
  }
}
