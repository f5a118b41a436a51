import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { Badge, type Tone } from '../kit/badge.js';
import { Time } from '../kit/time.js';

/**
 * State of a webhook. `stopped`: Tidings disabled it. `off`: a caller or the console disabled it. `new`: nothing was
 * delivered yet.
 */
export type WebhookState = 'failing' | 'stopped' | 'off' | 'ok' | 'new';

/** Returns the state of a webhook. */
export function stateOf(webhook: Webhook): WebhookState {
  if (!webhook.enabled) return webhook.disabledReason === null ? 'off' : 'stopped';
  if (webhook.failingSince !== null) return 'failing';
  return webhook.lastSuccessAt === null ? 'new' : 'ok';
}

const LOOKS: Readonly<Record<WebhookState, { tone: Tone; text: string }>> = {
  failing: { tone: 'bad', text: 'failing' },
  stopped: { tone: 'bad', text: 'disabled' },
  off: { tone: 'plain', text: 'disabled' },
  ok: { tone: 'good', text: 'ok' },
  new: { tone: 'plain', text: 'no deliveries yet' },
};

/** The state of a webhook as a badge, with the reason or the time beside it. */
export function WebhookBadge({ webhook }: { webhook: Webhook }): JSX.Element {
  const state = stateOf(webhook);
  const { tone, text } = LOOKS[state];
  return (
    <span class="webhook-state">
      <Badge tone={tone}>{text}</Badge>
      {state === 'failing' && (
        <span class="quiet">
          first failure <Time at={webhook.failingSince} />
        </span>
      )}
      {state === 'stopped' && <span class="quiet">{webhook.disabledReason}</span>}
      {state === 'off' && <span class="quiet">by a caller or the console</span>}
    </span>
  );
}

/** Returns the name of a webhook for the user: its description, or else its URL. */
export function nameOf({ description, url }: Webhook): string {
  return description ?? url;
}
