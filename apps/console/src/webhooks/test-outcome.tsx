import type { Delivery, StartedTest } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isNotFound, part } from '../api/api.js';
import { useRead } from '../api/queries.js';
import { to } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { Failure } from '../kit/page.js';
import { durationText } from '../kit/text.js';
import { attemptText, isSuccess } from './attempt-text.js';

/** Time during which the page waits for the first attempt of a test, in milliseconds. */
const MAX_WAIT_MS = 60_000;

/** The outcome of a test event: that of the first attempt of its delivery. */
export function TestOutcome({ test, onClose }: { test: StartedTest; onClose: () => void }): JSX.Element {
  const [begunAt] = useState(Date.now);
  const [isWatched, setWatched] = useState(true);
  const delivery = useRead<Delivery>(
    `/v1/deliveries/${part(test.deliveryId)}`,
    {},
    { everyMs: isWatched ? 1_000 : undefined },
  );
  const last = delivery.data?.attempts.at(-1);
  const isOver = last !== undefined || Date.now() - begunAt > MAX_WAIT_MS;
  if (isOver && isWatched) setWatched(false);
  // The delivery is created a moment after the event.
  const error = isNotFound(delivery.error) ? null : delivery.error;
  const tone = last === undefined ? '' : isSuccess(last) ? 'good' : 'bad';
  return (
    <section class={`notice ${tone}`} aria-label="Test event">
      <strong role="status">
        {last === undefined
          ? isOver
            ? 'The test event was not delivered within a minute'
            : 'Delivering the test event …'
          : isSuccess(last)
            ? 'The receiver accepted the test event'
            : 'The receiver did not accept the test event'}
      </strong>
      {error !== null && <Failure error={error} />}
      {last !== undefined && (
        <p>
          {attemptText(last)} after {durationText(last.durationMs)}.{' '}
          <a href={to('deliveries', test.deliveryId)}>Show the reply</a>
        </p>
      )}
      {isOver && <Button onClick={onClose}>Close</Button>}
    </section>
  );
}
