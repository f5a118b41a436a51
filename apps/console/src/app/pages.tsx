import type { ComponentType, JSX } from 'preact';
import { lazy, Route, Router, useLocation } from 'preact-iso';
import { BASE } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { Empty, Page } from '../kit/page.js';
import { PageBoundary } from './page-boundary.js';

/*
 * Each page is a file of its own, which the browser loads when the page is opened.
 */
const OverviewPage = pageOf(() =>
  import('../overview/overview-page.js').then((module) => module.OverviewPage),
);
const ConversationsPage = pageOf(() =>
  import('../conversations/conversations-page.js').then((module) => module.ConversationsPage),
);
const SendsPage = pageOf(() => import('../sends/sends-page.js').then((module) => module.SendsPage));
const SendPage = pageOf(() => import('../sends/send-page.js').then((module) => module.SendPage));
const EventsPage = pageOf(() => import('../events/events-page.js').then((module) => module.EventsPage));
const EventPage = pageOf(() => import('../events/event-page.js').then((module) => module.EventPage));
const WebhooksPage = pageOf(() =>
  import('../webhooks/webhooks-page.js').then((module) => module.WebhooksPage),
);
const WebhookPage = pageOf(() => import('../webhooks/webhook-page.js').then((module) => module.WebhookPage));
const DeliveryPage = pageOf(() =>
  import('../webhooks/delivery-page.js').then((module) => module.DeliveryPage),
);
const AccountsPage = pageOf(() => import('../access/accounts-page.js').then((module) => module.AccountsPage));
const ApiKeysPage = pageOf(() => import('../access/api-keys-page.js').then((module) => module.ApiKeysPage));
const AuditPage = pageOf(() => import('../access/audit-page.js').then((module) => module.AuditPage));
const QueuesPage = pageOf(() => import('../queues/queues-page.js').then((module) => module.QueuesPage));

/** The page that belongs to the address. */
export function Pages(): JSX.Element {
  const { path } = useLocation();
  return (
    <PageBoundary path={path}>
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
    </PageBoundary>
  );
}

/**
 * Returns a page whose file is loaded when the page is first shown. If the file cannot be loaded, an error page is
 * shown.
 */
function pageOf(load: () => Promise<ComponentType>): ComponentType {
  return lazy(() => load().catch(() => MissingPage));
}

/**
 * The error page for a page whose file could not be loaded: an upgrade has replaced the file, or the network failed.
 */
function MissingPage(): JSX.Element {
  return (
    <Page title="The page could not be loaded">
      <Empty title="The gateway was upgraded, or cannot be reached.">
        <p>
          <Button
            look="primary"
            onClick={() => {
              location.reload();
            }}
          >
            Reload the console
          </Button>
        </p>
      </Empty>
    </Page>
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
