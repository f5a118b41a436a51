import type { JSX } from 'preact';
import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { Dialog } from '../kit/dialog.js';
import { toggleExactTimes } from '../kit/time.js';
import { PLACES } from './places.js';

/** Time within which the second key of a shortcut must follow, in milliseconds. */
const SECOND_KEY_MS = 1_500;

/** Opens pages and runs commands by keys: `g` and the key of a page, `/` for the search field, `?` for help. */
export function useShortcuts(onHelp: () => void): void {
  const api = useApi();
  const { route } = useLocation();
  useEffect(() => {
    let isGoing = false;
    let timer: number | undefined;
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      if (isGoing) {
        isGoing = false;
        const place = PLACES.find(({ key, isFor }) => key === event.key && isFor(api));
        if (place === undefined) return;
        event.preventDefault();
        route(place.href);
        return;
      }
      if (event.key === 'g') {
        isGoing = true;
        clearTimeout(timer);
        timer = window.setTimeout(() => {
          isGoing = false;
        }, SECOND_KEY_MS);
      } else if (event.key === '/') {
        const search = document.querySelector<HTMLInputElement>('main input[type=search]');
        if (search === null) return;
        event.preventDefault();
        search.focus();
      } else if (event.key === '?') onHelp();
      else if (event.key === 't') toggleExactTimes();
    };
    addEventListener('keydown', onKey);
    return () => {
      clearTimeout(timer);
      removeEventListener('keydown', onKey);
    };
  }, [api, route]);
}

/** The list of the shortcuts. */
export function ShortcutHelp({ onClose }: { onClose: () => void }): JSX.Element {
  const api = useApi();
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="facts">
        {PLACES.filter(({ isFor }) => isFor(api)).map(({ title, key }) => (
          <div key={key}>
            <dt>{title}</dt>
            <dd>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dd>
          </div>
        ))}
        <div>
          <dt>Search on the page</dt>
          <dd>
            <kbd>/</kbd>
          </dd>
        </div>
        <div>
          <dt>Exact or relative times</dt>
          <dd>
            <kbd>t</kbd>
          </dd>
        </div>
        <div>
          <dt>This list</dt>
          <dd>
            <kbd>?</kbd>
          </dd>
        </div>
      </dl>
    </Dialog>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}
