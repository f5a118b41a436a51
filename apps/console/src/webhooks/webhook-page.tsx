import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function WebhookPage(): JSX.Element {
  return <Page title="Webhook">…</Page>;
}
