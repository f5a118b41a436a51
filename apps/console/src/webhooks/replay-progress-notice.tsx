import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { Button } from '../kit/button.js';
import { countText, numberText } from '../kit/text.js';
import type { ReplayProgress } from './replay-progress.js';
import { deliveriesHref } from './webhook-table.js';

/** Shows how far a replay is, and what to look at when it has ended. */
export function ReplayProgressNotice(props: {
  progress: ReplayProgress;
  webhook: Webhook;
  onWatchAgain: () => void;
  onClose: () => void;
}): JSX.Element {
  const { progress, webhook, onWatchAgain, onClose } = props;
  const { total, done, status } = progress;
  const isFailing = webhook.failingSince !== null;
  return (
    <section
      class={`notice replay ${isFailing ? 'warn' : status === 'ended' ? 'good' : ''}`}
      aria-label="Replay"
    >
      <strong role="status">{TITLES[status]}</strong>
      <progress max={total} value={done} aria-label="Deliveries that have ended" />
      <p>
        {status === 'ended'
          ? `${countText(total, 'delivery has', 'deliveries have')} ended, and none is pending.`
          : `${numberText(done)} of ${countText(total, 'delivery has', 'deliveries have')} ended.`}{' '}
        {isFailing && (
          <>
            The webhook still fails, so deliveries wait for their next attempt.{' '}
            <a href={deliveriesHref(webhook.id, 'pending')}>Show the pending deliveries</a>
          </>
        )}
        {status === 'ended' && <a href={deliveriesHref(webhook.id, 'failed')}>Show the failed deliveries</a>}
      </p>
      {status !== 'running' && (
        <div class="actions">
          {status === 'stalled' && <Button onClick={onWatchAgain}>Watch again</Button>}
          <Button onClick={onClose}>Close</Button>
        </div>
      )}
    </section>
  );
}

const TITLES: Readonly<Record<ReplayProgress['status'], string>> = {
  running: 'Replay under way',
  stalled: 'Nothing has been delivered for two minutes',
  ended: 'Replay finished',
};
