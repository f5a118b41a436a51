import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function ApiKeysPage(): JSX.Element {
  return <Page title="API keys">…</Page>;
}
