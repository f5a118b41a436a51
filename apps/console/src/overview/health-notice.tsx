import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { useRefresh } from '../api/queries.js';
import { Button } from '../kit/button.js';
import { Confirmation } from '../kit/dialog.js';
import { countText } from '../kit/text.js';
import { Time } from '../kit/time.js';
import type { Finding } from './problems.js';

interface HealthNoticeProps {
  findings: readonly Finding[];
  /**
   * False if the latest read of the data behind the findings failed. The findings may then be outdated or incomplete.
   */
  isCurrent: boolean;
}

/** Says whether everything works. For each problem, shows a sentence, and the link or button that helps. */
export function HealthNotice({ findings, isCurrent }: HealthNoticeProps): JSX.Element | null {
  const [isConfirming, setConfirming] = useState(false);
  if (findings.length === 0) {
    // It is unknown whether everything works until a read succeeds. The page shows the error of the read.
    if (!isCurrent) return null;
    return (
      <p class="notice calm" role="status">
        <strong>Everything works.</strong>
      </p>
    );
  }
  return (
    <div class="notice warn" role="status">
      <strong>{countText(findings.length, 'thing needs', 'things need')} your attention.</strong>
      <ul class="findings">
        {findings.map(({ text, since, link, isSuspect }) => (
          <li key={text}>
            <span class="wrap">
              {text}{' '}
              {since !== undefined && (
                <span class="since">
                  It began <Time at={since} />.
                </span>
              )}
            </span>
            {link !== undefined && (
              <a class="button" href={link.href}>
                {link.text}
              </a>
            )}
            {isSuspect === true && (
              <Button
                onClick={() => {
                  setConfirming(true);
                }}
              >
                Confirm the deletions
              </Button>
            )}
          </li>
        ))}
      </ul>
      {isConfirming && (
        <ConfirmDeletions
          onClose={() => {
            setConfirming(false);
          }}
        />
      )}
    </div>
  );
}

function ConfirmDeletions({ onClose }: { onClose: () => void }): JSX.Element {
  const api = useApi();
  const refresh = useRefresh();
  return (
    <Confirmation
      title="Were the contacts and messages really deleted?"
      verb="Report them as deleted"
      isDangerous
      done="The deletions are confirmed. Their events follow with the next reads."
      action={async () => {
        await api.change('POST', `/v1/accounts/${part(api.signIn.caller.account)}/confirm-deletions`);
        await refresh('/v1/status');
      }}
      onClose={onClose}
    >
      <p>
        Subscribers get an event for each contact and message that the messaging service no longer shows.
        Confirm only if you know that they were deleted there: an outage can look the same.
      </p>
    </Confirmation>
  );
}
