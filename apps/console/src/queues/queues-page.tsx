import type { JSX } from 'preact';
import { useApi } from '../api/api.js';
import { BASE } from '../kit/address.js';
import { Empty, Page } from '../kit/page.js';

/** The job queues, as Bull Board shows them: read-only, in a frame with rules of its own. */
export function QueuesPage(): JSX.Element {
  const { signIn } = useApi();
  if (!signIn.caller.isOperator)
    return (
      <Page title="Queues">
        <Empty title="Only operators can see the queues.">
          <p>Sign in with an API key of the account default that has the scope admin.</p>
        </Empty>
      </Page>
    );
  return (
    <Page title="Queues" isFull>
      <iframe class="board" title="Job queues" src={`${BASE}/queues/board`} />
    </Page>
  );
}
