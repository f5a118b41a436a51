import type { Webhook } from '#client';
import type { ComponentChildren, JSX } from 'preact';
import { to } from '../kit/address.js';
import { ActionButton, Button } from '../kit/button.js';
import { countText } from '../kit/text.js';
import { DueTime, Time } from '../kit/time.js';
import { attemptText } from './attempt-text.js';
import type { ReplayScope } from './replay-window.js';
import { useDeliveries } from './webhook-reads.js';
import { stateOf, type WebhookState } from './webhook-state.js';
import { deliveriesHref } from './webhook-table.js';

/** What the user can do about the state of a webhook. */
export interface NoticeActions {
  retry: () => Promise<void>;
  enable: () => Promise<void>;
  endPause: () => Promise<void>;
  test: () => Promise<void>;
  replay: (scope: ReplayScope) => void;
}

interface NoticeProps {
  webhook: Webhook;
  /** Time since which events were missed. Set if the user has just enabled the webhook. */
  missedSince: string | undefined;
  actions: NoticeActions;
}

const TONES: Readonly<Record<WebhookState, string>> = {
  failing: 'bad',
  stopped: 'bad',
  off: 'warn',
  ok: 'calm',
  new: '',
};

/**
 * Says in a sentence what the webhook does and why, with the button that helps. A gateway of an earlier build omits
 * `pausedUntil` and `waitingSince`.
 */
export function WebhookNotice(props: NoticeProps): JSX.Element {
  const { webhook, missedSince, actions } = props;
  const state = stateOf(webhook);
  return (
    <section class={`notice ${TONES[state]}`} aria-label="State">
      <Sentence state={state} {...props} />
      {webhook.enabled && typeof webhook.pausedUntil === 'string' && (
        <Advice buttons={<ActionButton action={actions.endPause}>End the pause</ActionButton>}>
          The webhook is paused, because its receiver asked for fewer requests. The next attempt begins{' '}
          <DueTime at={webhook.pausedUntil} />.
        </Advice>
      )}
      {missedSince !== undefined && webhook.enabled && (
        <Advice
          buttons={
            <Button
              look="primary"
              onClick={() => {
                actions.replay('missed');
              }}
            >
              Replay missed events
            </Button>
          }
        >
          The webhook is enabled again. Events since <Time at={missedSince} /> may be missing.
        </Advice>
      )}
    </section>
  );
}

function Sentence({ state, webhook, actions }: NoticeProps & { state: WebhookState }): JSX.Element {
  switch (state) {
    case 'failing':
      return <Failing webhook={webhook} actions={actions} />;
    case 'stopped':
      return (
        <Advice
          title="Disabled by Tidings"
          buttons={
            <ActionButton look="primary" action={actions.enable}>
              Enable
            </ActionButton>
          }
        >
          {webhook.disabledReason} New events are not delivered. Repair the receiver, then enable the webhook.
        </Advice>
      );
    case 'off':
      return (
        <Advice
          title="Disabled"
          buttons={
            <ActionButton look="primary" action={actions.enable}>
              Enable
            </ActionButton>
          }
        >
          A caller or the console disabled this webhook. New events are not delivered. You can replay them
          after you enable the webhook.
        </Advice>
      );
    case 'ok':
      return (
        <Advice>
          Deliveries succeed. The last event was delivered <Time at={webhook.lastSuccessAt} />.{' '}
          <Pending webhook={webhook} />
        </Advice>
      );
    case 'new':
      return (
        <Advice
          buttons={
            <ActionButton look="primary" action={actions.test}>
              Send a test event
            </ActionButton>
          }
        >
          Nothing has been delivered yet. <Pending webhook={webhook} />
        </Advice>
      );
  }
}

function Failing({ webhook, actions }: { webhook: Webhook; actions: NoticeActions }): JSX.Element {
  const latest = useDeliveries(webhook.id);
  const last = latest.data?.deliveries
    .flatMap(({ id, attempts }) => attempts.slice(-1).map((attempt) => ({ id, attempt })))
    .sort((a, b) => a.attempt.at.localeCompare(b.attempt.at))
    .at(-1);
  return (
    <Advice
      title="Failing"
      buttons={
        <>
          {webhook.pending > 0 && (
            <ActionButton look="primary" action={actions.retry}>
              Retry now
            </ActionButton>
          )}
          <Button
            onClick={() => {
              actions.replay('failed');
            }}
          >
            Replay failed events
          </Button>
        </>
      }
    >
      An attempt failed <Time at={webhook.failingSince} />, and none has succeeded since
      {last !== undefined && (
        <>
          . The last attempt was <Time at={last.attempt.at} />:{' '}
          <a href={to('deliveries', last.id)}>{attemptText(last.attempt)}</a>
        </>
      )}
      . <Pending webhook={webhook} />
    </Advice>
  );
}

function Pending({ webhook }: { webhook: Webhook }): JSX.Element | null {
  if (webhook.pending === 0) return null;
  return (
    <>
      <a href={deliveriesHref(webhook.id, 'pending')}>
        {countText(webhook.pending, 'delivery is', 'deliveries are')} pending.
      </a>
      {typeof webhook.waitingSince === 'string' && (
        <>
          {' '}
          Further events wait in the event log. The oldest of them was recorded{' '}
          <Time at={webhook.waitingSince} />.
        </>
      )}
    </>
  );
}

function Advice(props: {
  title?: string;
  buttons?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const { title, buttons, children } = props;
  return (
    <>
      {title !== undefined && <strong>{title}</strong>}
      <p>{children}</p>
      {buttons !== undefined && <div class="actions">{buttons}</div>}
    </>
  );
}
