import type { ComponentChildren, JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { useEffect, useId, useState } from 'preact/hooks';
import { newApiKeys } from '../access/new-api-keys.js';
import { useApi } from '../api/api.js';
import { keptDrafts } from '../conversations/kept-drafts.js';
import { BASE } from '../kit/address.js';
import { Button } from '../kit/button.js';
import { keepFocus } from '../kit/focus.js';
import { toggleExactTimes, useExactTimes } from '../kit/time.js';
import { useToasts } from '../kit/toasts.js';
import type { SignIns } from '../sign-in/sign-ins.js';
import { LiveMark } from './live-mark.js';
import { PLACES } from './places.js';
import { ShortcutHelp, useShortcuts } from './shortcuts.js';
import { applyTheme, currentTheme, type Theme } from './theme.js';

const ADD = 'add';

/** The frame around each page: the navigation, the account, and settings of the user. */
export function Shell(props: {
  signIns: SignIns;
  onAdd: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const { signIns, onAdd, children } = props;
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const { url } = useLocation();
  useEffect(() => {
    setMenuOpen(false);
  }, [url]);
  useEffect(keepFocus, []);
  useShortcuts(() => {
    setHelpOpen(true);
  });
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="masthead">
        <Button
          look="quiet"
          label={isMenuOpen ? 'Close the menu' : 'Open the menu'}
          onClick={() => {
            setMenuOpen(!isMenuOpen);
          }}
        >
          ☰
        </Button>
        <a class="brand" href={BASE}>
          Tidings
        </a>
        <LiveMark />
      </header>
      <aside class={isMenuOpen ? 'side open' : 'side'} aria-label="Navigation and account">
        <a class="brand" href={BASE}>
          Tidings
        </a>
        <Navigation />
        <div class="side-foot">
          <LiveMark />
          <AccountChoice signIns={signIns} onAdd={onAdd} />
          <Settings
            onHelp={() => {
              setHelpOpen(true);
            }}
          />
        </div>
      </aside>
      <main id="content">{children}</main>
      {isHelpOpen && (
        <ShortcutHelp
          onClose={() => {
            setHelpOpen(false);
          }}
        />
      )}
    </div>
  );
}

function Navigation(): JSX.Element {
  const api = useApi();
  const { path } = useLocation();
  return (
    <nav aria-label="Console">
      <ul>
        {PLACES.filter(({ isFor }) => isFor(api)).map(({ title, href }) => {
          const isHere = path === href || (href !== BASE && path.startsWith(`${href}/`));
          return (
            <li key={href}>
              <a href={href} aria-current={isHere ? 'page' : undefined}>
                {title}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

/** Switches between the API keys that are signed in. */
function AccountChoice({ signIns, onAdd }: { signIns: SignIns; onAdd: () => void }): JSX.Element {
  const { all, current } = signIns.snapshot;
  const { route } = useLocation();
  const toasts = useToasts();
  const id = useId();
  const [isSigningOut, setSigningOut] = useState(false);
  const signOut = async (): Promise<void> => {
    setSigningOut(true);
    try {
      const isLeft = await signIns.signOut();
      if (current !== undefined) {
        keptDrafts.forget(current.id);
        newApiKeys.forget(current.id);
      }
      // The objects on the page belong to the previous account.
      if (isLeft) route(BASE);
    } catch (error) {
      toasts.fail(error);
    } finally {
      setSigningOut(false);
    }
  };
  return (
    <div class="account">
      <label for={id}>Signed in as</label>
      <Button look="quiet" isBusy={isSigningOut} onClick={() => void signOut()}>
        Sign out
      </Button>
      <select
        id={id}
        value={current?.id}
        onChange={(event) => {
          const { value } = event.currentTarget;
          if (value === ADD) {
            event.currentTarget.value = current?.id ?? '';
            onAdd();
            return;
          }
          signIns.switchTo(value);
          // The objects on the page belong to the previous account.
          route(BASE);
        }}
      >
        {all.map(({ id: signInId, caller }) => (
          <option key={signInId} value={signInId}>
            {caller.account} · {caller.keyName ?? caller.keyId}
          </option>
        ))}
        <option value={ADD}>Sign in with another API key …</option>
      </select>
    </div>
  );
}

function Settings({ onHelp }: { onHelp: () => void }): JSX.Element {
  const [theme, setTheme] = useState<Theme>(currentTheme);
  const areTimesExact = useExactTimes();
  const id = useId();
  return (
    <div class="settings">
      <div>
        <label for={id}>Colours</label>
        <select
          id={id}
          value={theme}
          onChange={(event) => {
            const chosen = event.currentTarget.value as Theme;
            applyTheme(chosen);
            setTheme(chosen);
          }}
        >
          <option value="system">Automatic</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </div>
      <div>
        <Button look="quiet" isPressed={areTimesExact} onClick={toggleExactTimes}>
          Exact times
        </Button>
        <Button look="quiet" label="Keyboard shortcuts" onClick={onHelp}>
          ?
        </Button>
      </div>
    </div>
  );
}
