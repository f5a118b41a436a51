import type { StartedTest, Webhook } from '#client';
import type { JSX } from 'preact';
import { useRoute } from 'preact-iso';
import { useRef, useState } from 'preact/hooks';
import { isNotFound, part, useApi } from '../api/api.js';
import { useRead, useRefresh } from '../api/queries.js';
import { to } from '../kit/address.js';
import { Empty, Loaded, Page } from '../kit/page.js';
import { useToasts } from '../kit/toasts.js';
import { DeliveriesSection } from './deliveries-section.js';
import { ReplayProgressNotice } from './replay-progress-notice.js';
import { useReplayProgress } from './replay-progress.js';
import type { ReplayScope } from './replay-window.js';
import { SecretSection } from './secret-section.js';
import { TestOutcome } from './test-outcome.js';
import { VerifySection } from './verify-section.js';
import { WebhookActions } from './webhook-actions.js';
import { type OpenDialog, WebhookDialog } from './webhook-dialog.js';
import { WebhookFacts } from './webhook-facts.js';
import { WebhookNotice } from './webhook-notice.js';
import { retryPending, sendTest, setEnabled } from './webhook-operations.js';
import { useLiveWebhooks } from './webhook-reads.js';
import { nameOf } from './webhook-state.js';

const BACK = { href: to('webhooks'), label: 'Webhooks' };

/** A webhook: how its deliveries go, its settings, and its deliveries. */
export function WebhookPage(): JSX.Element {
  const { id = '' } = useRoute().params;
  return <OneWebhook key={id} id={id} />;
}

function OneWebhook({ id }: { id: string }): JSX.Element {
  const [everyMs, setEveryMs] = useState(3_000);
  const webhook = useRead<Webhook>(`/v1/webhooks/${part(id)}`, {}, { everyMs });
  const [progress, follow] = useReplayProgress(webhook.data?.pending, webhook.dataUpdatedAt);
  const wantedMs = progress?.status === 'running' ? 1_000 : 3_000;
  if (wantedMs !== everyMs) setEveryMs(wantedMs);
  const troubleSince = useTroubleSince(webhook.data);
  const [missedSince, setMissedSince] = useState<string>();
  const [test, setTest] = useState<StartedTest>();
  const [dialog, setDialog] = useState<OpenDialog>();
  const api = useApi();
  const toasts = useToasts();
  const refresh = useRefresh();
  const readAgain = (): Promise<void> => refresh('/v1/webhooks');
  useLiveWebhooks();

  if (isNotFound(webhook.error))
    return (
      <Page title="Webhook not found" back={BACK}>
        <Empty title="The account has no webhook with this id.">
          <p>It may have been deleted.</p>
        </Empty>
      </Page>
    );
  const onReplayed = async (count: number): Promise<void> => {
    setMissedSince(undefined);
    // The data that were read before the replay do not contain its deliveries.
    await readAgain();
    if (count === 0) toasts.say('No event matches, so nothing is delivered.');
    follow(count === 0 ? undefined : count);
  };
  const actionsOf = (of: Webhook): Parameters<typeof WebhookNotice>[0]['actions'] => ({
    retry: async () => {
      await onReplayed(await retryPending(api, of));
    },
    enable: async () => {
      await setEnabled(api, of, true);
      setMissedSince(troubleSince.current);
      await readAgain();
    },
    endPause: async () => {
      await setEnabled(api, of, true);
      await readAgain();
    },
    test: async () => {
      setTest(await sendTest(api, of));
      await readAgain();
    },
    replay: (scope: ReplayScope) => {
      setDialog({ kind: 'replay', scope });
    },
  });
  const { data } = webhook;
  return (
    <Page
      title={data === undefined ? 'Webhook' : nameOf(data)}
      back={BACK}
      actions={
        data !== undefined && <WebhookActions webhook={data} actions={actionsOf(data)} onOpen={setDialog} />
      }
    >
      <Loaded of={webhook}>
        {(shown) => (
          <>
            <WebhookNotice webhook={shown} missedSince={missedSince} actions={actionsOf(shown)} />
            {progress !== undefined && (
              <ReplayProgressNotice
                progress={progress}
                webhook={shown}
                onWatchAgain={() => {
                  follow(shown.pending);
                }}
                onClose={() => {
                  follow(undefined);
                }}
              />
            )}
            {test !== undefined && (
              <TestOutcome
                key={test.deliveryId}
                test={test}
                onClose={() => {
                  setTest(undefined);
                }}
              />
            )}
            <DeliveriesSection webhook={shown} onRetryPending={actionsOf(shown).retry} />
            <WebhookFacts webhook={shown} />
            <SecretSection webhook={shown} />
            <VerifySection webhook={shown} />
            <WebhookDialog
              open={dialog}
              webhook={shown}
              troubleSince={troubleSince.current}
              onReplayed={onReplayed}
              onClose={() => {
                setDialog(undefined);
              }}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/**
 * Returns the earliest time since which the page has seen the webhook as failing or disabled. The page remembers this
 * time for a replay, because the gateway no longer reports it as soon as the webhook works again.
 */
function useTroubleSince(webhook: Webhook | undefined): { readonly current: string | undefined } {
  const earliest = useRef<string>();
  if (webhook !== undefined) {
    const { failingSince, enabled, updatedAt } = webhook;
    const seen = [earliest.current, failingSince ?? undefined, enabled ? undefined : updatedAt];
    earliest.current = seen.filter((time) => time !== undefined).sort()[0];
  }
  return earliest;
}
