import type { DeliveryList, WebhookList } from '#client';
import type { UseQueryResult } from '@tanstack/preact-query';
import { part } from '../api/api.js';
import { useLive, useRead, useRefresh } from '../api/queries.js';
import { useThrottled } from '../kit/use-throttled.js';

/** How often deliveries and webhooks are read while they are shown, in milliseconds. */
const EVERY_MS = 3_000;
const PAGE = 25;
/** Minimum time between two reads because of events, in milliseconds. */
const MIN_PAUSE_MS = 1_000;

/** Reads all webhooks, again and again. */
export function useWebhooks(): UseQueryResult<WebhookList> {
  return useRead<WebhookList>('/v1/webhooks', {}, { everyMs: EVERY_MS });
}

/** Reads one page of the deliveries of a webhook, again and again. Parts of a page that read the same share the reads. */
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

/** Reads what is shown of webhooks again once Tidings disables one: at most once a second, however many these are. */
export function useLiveWebhooks(): void {
  const refresh = useRefresh();
  const readSoon = useThrottled(() => refresh('/v1/webhooks'), MIN_PAUSE_MS);
  useLive({ types: ['webhook.disabled'], onEvent: readSoon, onGap: readSoon });
}
