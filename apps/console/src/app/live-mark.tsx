import type { JSX } from 'preact';
import { useApi } from '../api/api.js';
import type { LiveState } from '../api/live-events.js';
import { useSnapshot } from '../kit/use-snapshot.js';

const TEXTS: Readonly<Record<LiveState, { text: string; title: string }>> = {
  connecting: { text: 'Live', title: 'Changes appear as they happen.' },
  open: { text: 'Live', title: 'Changes appear as they happen.' },
  lost: {
    text: 'Reconnecting …',
    title:
      'The connection to the gateway is lost. The page may be out of date. The console reconnects automatically.',
  },
  off: {
    text: 'Not live',
    title:
      'The API key may not read events (events:read), so changes may appear late, or only after a reload.',
  },
};

/** Says whether the page follows the events of the account. */
export function LiveMark(): JSX.Element {
  const { live } = useApi();
  const state = useSnapshot(live);
  const { text, title } = TEXTS[state];
  return (
    <span class={`live ${state}`} role="status" title={title}>
      {text}
    </span>
  );
}
