import type { JSX } from 'preact';
import { lazy, Route, Router } from 'preact-iso';
import { BASE } from '../kit/address.js';
import { Empty, Page } from '../kit/page.js';

/*
 * Each page is a file of its own, which the browser loads when the page is opened.
 */
const OverviewPage = lazy(() => import('../overview/overview-page.js').then((module) => module.OverviewPage));
const ConversationsPage = lazy(() =>
  import('../conversations/conversations-page.js').then((module) => module.ConversationsPage),
);
const SendsPage = lazy(() => import('../sends/sends-page.js').then((module) => module.SendsPage));
const SendPage = lazy(() => import('../sends/send-page.js').then((module) => module.SendPage));
const EventsPage = lazy(() => import('../events/events-page.js').then((module) => module.EventsPage));
const EventPage = lazy(() => import('../events/event-page.js').then((module) => module.EventPage));
const WebhooksPage = lazy(() => import('../webhooks/webhooks-page.js').then((module) => module.WebhooksPage));
const WebhookPage = lazy(() => import('../webhooks/webhook-page.js').then((module) => module.WebhookPage));
const DeliveryPage = lazy(() => import('../webhooks/delivery-page.js').then((module) => module.DeliveryPage));
const AccountsPage = lazy(() => import('../access/accounts-page.js').then((module) => module.AccountsPage));
const ApiKeysPage = lazy(() => import('../access/api-keys-page.js').then((module) => module.ApiKeysPage));
const AuditPage = lazy(() => import('../access/audit-page.js').then((module) => module.AuditPage));
const QueuesPage = lazy(() => import('../queues/queues-page.js').then((module) => module.QueuesPage));

/** The page that belongs to the address. */
export function Pages(): JSX.Element {
  return (
    <Router>
      <Route path={BASE} component={OverviewPage} />
      <Route path={`${BASE}/conversations`} component={ConversationsPage} />
      <Route path={`${BASE}/conversations/:id`} component={ConversationsPage} />
      <Route path={`${BASE}/sends`} component={SendsPage} />
      <Route path={`${BASE}/sends/:id`} component={SendPage} />
      <Route path={`${BASE}/events`} component={EventsPage} />
      <Route path={`${BASE}/events/:id`} component={EventPage} />
      <Route path={`${BASE}/webhooks`} component={WebhooksPage} />
      <Route path={`${BASE}/webhooks/:id`} component={WebhookPage} />
      <Route path={`${BASE}/deliveries/:id`} component={DeliveryPage} />
      <Route path={`${BASE}/accounts`} component={AccountsPage} />
      <Route path={`${BASE}/api-keys`} component={ApiKeysPage} />
      <Route path={`${BASE}/audit`} component={AuditPage} />
      <Route path={`${BASE}/queues`} component={QueuesPage} />
      <Route default component={UnknownPage} />
    </Router>
  );
}

function UnknownPage(): JSX.Element {
  return (
    <Page title="Page not found">
      <Empty title="The console has no page at this address.">
        <p>
          <a href={BASE}>Go to the overview</a>
        </p>
      </Empty>
    </Page>
  );
}
