import { type StartedReplay, type StartedTest, TidingsError, type Webhook } from '#client';
import { type Api, part } from '../api/api.js';

/** A time before all events of the log. */
const BEGINNING = '1970-01-01T00:00:00.000Z';
/** If the log is too long for one replay, the retried events begin this long before the trouble, in milliseconds. */
const MARGIN_MS = 3_600_000;

/**
 * Makes the next attempt of all pending deliveries of a webhook due now, and returns their number.
 * @throws {TidingsError | TidingsConnectionError}
 */
export async function retryPending(api: Api, { id, failingSince }: Webhook): Promise<number> {
  const retrySince = async (since: string): Promise<number> => {
    const body = { since, only: 'pending' };
    return (await api.change<StartedReplay>('POST', `/v1/webhooks/${part(id)}/replay`, body)).count;
  };
  try {
    return await retrySince(BEGINNING);
  } catch (error) {
    const isTooLarge = error instanceof TidingsError && error.fields.some(({ field }) => field === 'until');
    if (!isTooLarge) throw error;
    const trouble = failingSince === null ? Date.now() : Date.parse(failingSince);
    return await retrySince(new Date(trouble - MARGIN_MS).toISOString());
  }
}

/**
 * Enables or disables a webhook. Enabling a webhook that is already enabled ends its pause.
 * @throws {TidingsError | TidingsConnectionError}
 */
export async function setEnabled(api: Api, { id }: Webhook, enabled: boolean): Promise<void> {
  await api.change('PATCH', `/v1/webhooks/${part(id)}`, { enabled });
}

/**
 * Sends a test event.
 * @throws {TidingsError | TidingsConnectionError}
 */
export async function sendTest(api: Api, { id }: Webhook): Promise<StartedTest> {
  return await api.change<StartedTest>('POST', `/v1/webhooks/${part(id)}/test`);
}
