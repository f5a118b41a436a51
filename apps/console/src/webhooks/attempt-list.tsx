import type { DeliveryAttempt } from '#client';
import type { JSX } from 'preact';
import { Badge } from '../kit/badge.js';
import { Code } from '../kit/copy.js';
import { Empty } from '../kit/page.js';
import { durationText } from '../kit/text.js';
import { Time } from '../kit/time.js';
import { attemptText, isSuccess } from './attempt-text.js';

/** The attempts of a delivery, newest first, each with its reply. */
export function AttemptList({ attempts }: { attempts: readonly DeliveryAttempt[] }): JSX.Element {
  if (attempts.length === 0) return <Empty title="There was no attempt yet." />;
  return (
    <ol class="attempts" reversed>
      {[...attempts].reverse().map((attempt, i) => (
        <li key={attempt.at}>
          <p class="attempt">
            <Badge tone={isSuccess(attempt) ? 'good' : 'bad'}>
              {attempt.statusCode === null ? 'no reply' : attempt.statusCode}
            </Badge>
            <Time at={attempt.at} always="exact" />
            <span class="took">took {durationText(attempt.durationMs)}</span>
            {attempt.error !== null && <span class="outcome">{attemptText(attempt)}</span>}
          </p>
          {attempt.reply !== '' && (
            <details open={i === 0}>
              <summary>Reply</summary>
              <Code text={attempt.reply} label="First kilobyte of the reply" />
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}
