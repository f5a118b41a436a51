import { QueryClientProvider } from '@tanstack/preact-query';
import type { JSX } from 'preact';
import { ErrorBoundary, LocationProvider } from 'preact-iso';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Api, ApiProvider } from '../api/api.js';
import { pauseWhileHidden } from '../api/pause-while-hidden.js';
import { createQueryClient } from '../api/queries.js';
import { BASE } from '../kit/address.js';
import { Loading } from '../kit/page.js';
import { ToastArea } from '../kit/toasts.js';
import { useSnapshot } from '../kit/use-snapshot.js';
import { Attention } from '../sign-in/attention.js';
import { keepAlive } from '../sign-in/keep-alive.js';
import { SignInPage } from '../sign-in/sign-in-page.js';
import type { SignIn, SignIns, SignInState } from '../sign-in/sign-ins.js';
import { Pages } from './pages.js';
import { Shell } from './shell.js';

const attention = new Attention(window);

/** The console: the sign-in form, or the pages of the sign-in that is in use. */
export function App({ signIns }: { signIns: SignIns }): JSX.Element {
  const state = useSnapshot(signIns);
  // The form for another API key closes when the sign-ins change.
  const [addsTo, setAddsTo] = useState<SignInState>();
  const isAdding = addsTo === state;
  const { isRestored, current } = state;
  return (
    <LocationProvider scope={BASE}>
      <ToastArea>
        {!isRestored ? (
          <Loading />
        ) : current === undefined || isAdding ? (
          <SignInPage
            signIns={signIns}
            because={state.endedBecause}
            {...(isAdding
              ? {
                  onCancel: () => {
                    setAddsTo(undefined);
                  },
                }
              : {})}
          />
        ) : (
          <SignedIn
            key={current.id}
            signIns={signIns}
            signIn={current}
            onAdd={() => {
              setAddsTo(state);
            }}
          />
        )}
      </ToastArea>
    </LocationProvider>
  );
}

function SignedIn(props: { signIns: SignIns; signIn: SignIn; onAdd: () => void }): JSX.Element {
  const { signIns, signIn, onAdd } = props;
  const queries = useMemo(() => createQueryClient(), []);
  const api = useMemo(
    () =>
      new Api(
        signIn,
        (reason) => {
          signIns.end(signIn, reason);
        },
        attention,
      ),
    [signIn],
  );
  useEffect(() => {
    // The page of the queues is in a frame. Its requests use the same sign-in.
    window.tidingsConsole = {
      requestHeaders: () => ({ ...api.headers, ...attention.headers }),
      watchInputs: (frame) => {
        attention.watch(frame);
      },
    };
    return () => {
      delete window.tidingsConsole;
      api.live.close();
      queries.clear();
    };
  }, [api]);
  useEffect(
    () =>
      signIn.credential.kind === 'session' ? keepAlive(attention, () => api.get('/v1/caller')) : undefined,
    [api],
  );
  useEffect(() => pauseWhileHidden(document, api.live), [api]);
  return (
    <QueryClientProvider client={queries}>
      <ApiProvider value={api}>
        <ErrorBoundary>
          <Shell signIns={signIns} onAdd={onAdd}>
            <Pages />
          </Shell>
        </ErrorBoundary>
      </ApiProvider>
    </QueryClientProvider>
  );
}

declare global {
  interface Window {
    /** Used by pages of the gateway inside a frame of the console. */
    tidingsConsole?: {
      /** Returns the headers of a request that is made now. */
      requestHeaders: () => Record<string, string>;
      /** Counts the inputs of a frame as use of the console. */
      watchInputs: (frame: Window) => void;
    };
  }
}
