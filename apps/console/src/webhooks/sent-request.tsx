import type { DeliveryAttempt, Event, Webhook } from '#client';
import type { JSX } from 'preact';
import { Copy } from '../kit/copy.js';
import { Json } from '../kit/json.js';
import { Facts } from '../kit/table.js';
import { curlOf, variablesOf } from './curl.js';

/** The request of a delivery at the time of its latest attempt, and a command that makes such a request. */
export function SentRequest(props: {
  event: Event;
  /** Undefined while the webhook is read, or if it was deleted. */
  webhook: Webhook | undefined;
  attempts: readonly DeliveryAttempt[];
}): JSX.Element {
  const { event, webhook, attempts } = props;
  const at = attempts.at(-1)?.at;
  const timestamp = at === undefined ? 'the time of the attempt' : Math.floor(Date.parse(at) / 1_000);
  const own = Object.keys(webhook?.headers ?? {}).map((name) => `${name}: ••••`);
  const lines = [
    ...own,
    'content-type: application/json',
    `webhook-id: ${event.id}`,
    `webhook-timestamp: ${timestamp}`,
    'webhook-signature: v1,… (not stored)',
  ];
  return (
    <>
      <Facts
        of={[
          ['Method', 'POST'],
          ['URL', webhook === undefined ? null : <code>{webhook.url}</code>],
          [
            'Headers',
            <ul key="headers" class="header-lines">
              {lines.map((line) => (
                <li key={line}>
                  <code>{line}</code>
                </li>
              ))}
            </ul>,
          ],
        ]}
      />
      {webhook !== undefined && <CurlCopy event={event} webhook={webhook} />}
      <h3>Body</h3>
      <Json value={event} label="Body" />
    </>
  );
}

/** Copies a command. The command contains no credentials, because it reads them from variables. */
function CurlCopy({ event, webhook }: { event: Event; webhook: Webhook }): JSX.Element {
  const variables = variablesOf(webhook);
  return (
    <div class="actions">
      <Copy text={curlOf(event, webhook)} label="Copy as curl" />
      <span class="quiet">
        The command signs the request when it runs. It reads{' '}
        {variables.map((name, i) => (
          <>
            {i > 0 && ', '}
            <code key={name}>{name}</code>
          </>
        ))}{' '}
        from the environment, so no secret is copied.
      </span>
    </div>
  );
}
