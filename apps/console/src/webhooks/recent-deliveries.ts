import type { Delivery, DeliveryList } from '#client';
import type { UseQueryResult } from '@tanstack/preact-query';
import { part } from '../api/api.js';
import { useRead } from '../api/queries.js';

/** Number of deliveries from which the success rate and the delay of a webhook are computed: one page of the API. */
const COUNT = 100;
/** Interval of the reads, in milliseconds. It is long, because a list of webhooks makes one request per webhook. */
const EVERY_MS = 60_000;

/** How the latest deliveries of a webhook went. */
export interface DeliverySummary {
  /** Number of the deliveries that were attempted, or ended without an attempt. */
  count: number;
  succeeded: number;
  /** Number of deliveries that failed or were missed. */
  failed: number;
  /** Median time from the creation of a delivery to its success, in milliseconds. */
  delayMs: number | undefined;
}

/** Reads the latest deliveries of a webhook. */
export function useRecentDeliveries(webhookId: string): UseQueryResult<DeliveryList> {
  return useRead<DeliveryList>(
    `/v1/webhooks/${part(webhookId)}/deliveries`,
    { limit: COUNT },
    { everyMs: EVERY_MS },
  );
}

/** Summarizes deliveries. Deliveries that wait for their first attempt are not counted. */
export function summaryOf(deliveries: readonly Delivery[]): DeliverySummary {
  const tried = deliveries.filter(({ status, attempts }) => status !== 'pending' || attempts.length > 0);
  const succeeded = tried.filter(({ status }) => status === 'succeeded');
  return {
    count: tried.length,
    succeeded: succeeded.length,
    failed: tried.filter(({ status }) => status === 'failed' || status === 'missed').length,
    delayMs: medianOf(
      succeeded.flatMap(({ createdAt, finishedAt }) =>
        finishedAt === null ? [] : [Math.max(0, Date.parse(finishedAt) - Date.parse(createdAt))],
      ),
    ),
  };
}

function medianOf(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
}
