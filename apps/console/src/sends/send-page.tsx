import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function SendPage(): JSX.Element {
  return <Page title="Send">…</Page>;
}
