import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { useEffect, useRef, useState } from 'preact/hooks';
import { BASE } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { TextField } from '../kit/fields.js';
import { type ErrorText, errorText } from '../kit/text.js';
import type { SignIns } from './sign-ins.js';

interface SignInPageProps {
  signIns: SignIns;
  /** Why the last sign-in ended. */
  because: string | undefined;
  /** Absent if there is no other sign-in to return to. */
  onCancel?: () => void;
}

/**
 * Shown if the text has characters that browsers cannot send in a header, for example because they were copied from a
 * document with the key.
 */
const NOT_A_KEY: ErrorText = {
  title: 'Not an API key',
  detail:
    'The text contains characters that cannot be part of an API key, for example typographic quotes or invisible characters. Copy the API key again.',
  fields: [],
  requestId: undefined,
};

/** Asks for an API key. The address does not change, so that a link still leads to its page after the sign-in. */
export function SignInPage({ signIns, because, onCancel }: SignInPageProps): JSX.Element {
  const [key, setKey] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<ErrorText>();
  const form = useRef<HTMLFormElement>(null);
  const { route } = useLocation();
  useEffect(() => {
    // Browsers obey `autofocus` only once per visit, but the form also appears after a sign-out.
    form.current?.querySelector('input')?.focus();
    document.title = 'Sign in · Tidings';
    // The page after the form is not the first one of the visit, so it gets the focus.
    document.body.dataset.visited = '';
  }, []);
  const submit = async (): Promise<void> => {
    if (isBusy) return;
    if (!/^[\x20-\x7e]+$/.test(key.trim())) {
      setFault(NOT_A_KEY);
      return;
    }
    setBusy(true);
    setFault(undefined);
    try {
      await signIns.signIn(key.trim(), () => {
        route(BASE);
      });
    } catch (error) {
      setFault(errorText(error));
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <h1>Tidings</h1>
        {because !== undefined && (
          <p class="notice warn" role="alert">
            {because}
          </p>
        )}
        <TextField
          label="API key"
          type="password"
          value={key}
          onInput={setKey}
          isRequired
          autocomplete="current-password"
          fault={fault === undefined ? undefined : [fault.detail, ...fault.fields].join(' ')}
          hint={
            location.protocol === 'https:'
              ? 'You stay signed in for up to 12 hours, or 30 minutes without use.'
              : 'The page is not encrypted (HTTP), so the API key stays only in the memory of this page. After a reload, you must enter it again.'
          }
        />
        <div class="actions">
          <Button type="submit" look="primary" isBusy={isBusy}>
            {isBusy ? 'Signing in …' : 'Sign in'}
          </Button>
          {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
          {onCancel === undefined &&
            signIns.snapshot.all.map(({ id, caller }) => (
              <Button
                key={id}
                onClick={() => {
                  signIns.switchTo(id);
                  route(BASE);
                }}
              >
                Continue as {caller.account} · {caller.keyName ?? caller.keyId}
              </Button>
            ))}
        </div>
      </form>
    </main>
  );
}
