import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function SendsPage(): JSX.Element {
  return <Page title="Sends">…</Page>;
}
