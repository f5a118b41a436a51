import type { Event, FullReadiness, Readiness, Stats, Status, WebhookList } from '#client';
import type { JSX } from 'preact';
import { useApi } from '../api/api.js';
import { useLive, useRead, useRefresh } from '../api/queries.js';
import { Failure, Loaded, Loading, Page } from '../kit/page.js';
import { HealthNotice } from './health-notice.js';
import { findingsOf } from './problems.js';
import { StatusFacts } from './status-facts.js';
import { StatsPlots } from './stats-plots.js';

/** Time between two reads of what the overview shows, in milliseconds. */
const REFRESH_MS = 5_000;

/** The events that change what the overview shows. */
const SHOWN = ['upstream.*', 'account.suspect', 'webhook.disabled'] satisfies (
  Event['type'] | 'upstream.*'
)[];

/** The overview: problems, current numbers, and the statistics of the last hour. */
export function OverviewPage(): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  const mayAdmin = api.may('admin');
  const status = useRead<Status>('/v1/status', {}, { everyMs: REFRESH_MS, isEnabled: mayAdmin });
  const ready = useRead<Readiness>('/health/ready', {}, { everyMs: REFRESH_MS, isEnabled: !mayAdmin });
  const stats = useRead<Stats>('/v1/stats', {}, { everyMs: REFRESH_MS });
  const webhooks = useRead<WebhookList>(
    '/v1/webhooks',
    {},
    { everyMs: REFRESH_MS, isEnabled: api.may('webhooks:manage') },
  );
  useLive({
    types: SHOWN,
    onEvent: () => void refresh('/v1/status', '/v1/webhooks'),
  });
  const health = mayAdmin ? status : ready;
  const readiness: Readiness | FullReadiness | undefined = status.data?.readiness ?? ready.data;
  return (
    <Page title="Overview">
      <Loaded<Status | Readiness> of={health}>
        {() =>
          // Until the webhooks are read, it is unknown whether everything works.
          webhooks.isLoading ? (
            <Loading />
          ) : (
            <HealthNotice
              findings={findingsOf({ readiness, status: status.data, webhooks: webhooks.data })}
              isCurrent={health.error === null && webhooks.error === null}
            />
          )
        }
      </Loaded>
      {webhooks.error !== null && <Failure error={webhooks.error} retry={webhooks.refetch} />}
      {status.data !== undefined && <StatusFacts status={status.data} />}
      <Loaded of={stats}>{(data) => <StatsPlots stats={data} />}</Loaded>
    </Page>
  );
}
