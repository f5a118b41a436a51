import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function EventsPage(): JSX.Element {
  return <Page title="Events">…</Page>;
}
