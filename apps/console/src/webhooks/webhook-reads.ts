import type { DeliveryList, WebhookList } from '#client';
import type { UseQueryResult } from '@tanstack/preact-query';
import { part } from '../api/api.js';
import { useLive, useRead, useRefresh } from '../api/queries.js';
import { useThrottled } from '../kit/use-throttled.js';

/** Interval at which deliveries and webhooks are read while they are shown, in milliseconds. */
const EVERY_MS = 3_000;
const PAGE = 25;
/** Minimum time between two reads because of events, in milliseconds. */
const MIN_PAUSE_MS = 1_000;

/** Reads all webhooks repeatedly. */
export function useWebhooks(): UseQueryResult<WebhookList> {
  return useRead<WebhookList>('/v1/webhooks', {}, { everyMs: EVERY_MS });
}

/**
 * Reads one page of the deliveries of a webhook repeatedly. Parts of a page that read the same deliveries share the
 * requests.
 */
export function useDeliveries(
  webhookId: string,
  { status = '', cursor }: { status?: string | undefined; cursor?: string | undefined } = {},
): UseQueryResult<DeliveryList> {
  return useRead<DeliveryList>(
    `/v1/webhooks/${part(webhookId)}/deliveries`,
    { status, cursor, limit: PAGE },
    { everyMs: EVERY_MS },
  );
}

/** Reads the shown webhooks again when Tidings disables one: at most once a second, however many it disables. */
export function useLiveWebhooks(): void {
  const refresh = useRefresh();
  const readSoon = useThrottled(() => refresh('/v1/webhooks'), MIN_PAUSE_MS);
  useLive({ types: ['webhook.disabled'], onEvent: readSoon, onGap: readSoon });
}
