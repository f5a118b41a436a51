import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function EventPage(): JSX.Element {
  return <Page title="Event">…</Page>;
}
