import type { RotatedSecret, SigningSecret, Webhook } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { ActionButton, Button } from '../kit/button.js';
import { Code } from '../kit/copy.js';
import { Confirmation } from '../kit/dialog.js';
import { ChoiceField } from '../kit/fields.js';
import { Section } from '../kit/page.js';
import { Countdown } from '../kit/time.js';

const OVERLAPS = [
  { value: '86400', label: '24 hours' },
  { value: '3600', label: '1 hour' },
  { value: '604800', label: '7 days' },
  { value: '2592000', label: '30 days' },
  { value: '0', label: 'Not at all: the old secrets end at once' },
] as const;

/** The signing secret, which is read only on demand, and its rotation. */
export function SecretSection({ webhook }: { webhook: Webhook }): JSX.Element {
  const api = useApi();
  const path = `/v1/webhooks/${part(webhook.id)}`;
  const [secret, setSecret] = useState<string>();
  const [isRotating, setRotating] = useState(false);
  const [oldEndsAt, setOldEndsAt] = useOldSecretEnd(webhook.id);
  return (
    <Section
      title="Signing secret"
      actions={
        <Button
          onClick={() => {
            setRotating(true);
          }}
        >
          Rotate …
        </Button>
      }
    >
      {oldEndsAt !== undefined && (
        <p class="notice warn">
          <span>
            The secret was rotated. Deliveries are signed with the old secret, too, for{' '}
            <Countdown until={oldEndsAt} over="no longer" />. Configure the receiver with the new secret
            before then.
          </span>
        </p>
      )}
      {secret === undefined ? (
        <div class="actions">
          <ActionButton
            action={async () => {
              setSecret((await api.get<SigningSecret>(`${path}/secret`)).secret);
            }}
          >
            Reveal the secret
          </ActionButton>
          <span class="quiet">Each time the secret is revealed, the audit log records it.</span>
        </div>
      ) : (
        <>
          <Code text={secret} label="Signing secret" />
          <div>
            <Button
              onClick={() => {
                setSecret(undefined);
              }}
            >
              Hide the secret
            </Button>
          </div>
        </>
      )}
      {isRotating && (
        <RotateDialog
          path={path}
          onRotated={(rotated) => {
            setSecret(rotated.secret);
            setOldEndsAt(rotated.previousExpireAt);
          }}
          onClose={() => {
            setRotating(false);
          }}
        />
      )}
    </Section>
  );
}

function RotateDialog(props: {
  path: string;
  onRotated: (rotated: RotatedSecret) => void;
  onClose: () => void;
}): JSX.Element {
  const { path, onRotated, onClose } = props;
  const api = useApi();
  const [overlap, setOverlap] = useState<(typeof OVERLAPS)[number]['value']>('86400');
  return (
    <Confirmation
      title="Rotate the signing secret?"
      verb="Rotate the secret"
      isDangerous={overlap === '0'}
      done="Rotated"
      onClose={onClose}
      action={async () => {
        const body = { overlapSeconds: Number(overlap) };
        onRotated(await api.change<RotatedSecret>('POST', `${path}/rotate-secret`, body));
      }}
    >
      <p>
        Tidings creates a new secret, and signs every delivery with it from now on. For the chosen time,
        Tidings also signs with the old secret, so that no delivery is rejected until the receiver is
        configured with the new secret.
      </p>
      <ChoiceField
        label="The old secret stays valid for"
        value={overlap}
        choices={OVERLAPS}
        onChange={setOverlap}
        hint={
          overlap === '0'
            ? 'A receiver that does not have the new secret yet rejects every delivery. Choose this if the secret was leaked.'
            : undefined
        }
      />
    </Confirmation>
  );
}

/**
 * When the old secret of a webhook ends. Only the reply to a rotation contains this time, so the tab of the browser
 * remembers it. The time is not secret.
 */
function useOldSecretEnd(webhookId: string): [string | undefined, (endsAt: string) => void] {
  const name = `tidings.console.rotated.${webhookId}`;
  const [endsAt, setEndsAt] = useState(() => sessionStorage.getItem(name) ?? undefined);
  const isOver = endsAt === undefined || Date.parse(endsAt) <= Date.now();
  return [
    isOver ? undefined : endsAt,
    (next) => {
      sessionStorage.setItem(name, next);
      setEndsAt(next);
    },
  ];
}
