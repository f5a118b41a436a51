import type { Delivery, DeliveryList } from '#client';
import type { UseQueryResult } from '@tanstack/preact-query';
import { part } from '../api/api.js';
import { useRead } from '../api/queries.js';

/** Number of deliveries that a webhook's rate and delay are computed from: one page of the API. */
const COUNT = 100;
/** A list shows many webhooks, each with a request of its own, so the rates are read seldom. */
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

/** Summarizes deliveries. Those that wait for their first attempt say nothing yet, so they are not counted. */
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
