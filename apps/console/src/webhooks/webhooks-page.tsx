import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function WebhooksPage(): JSX.Element {
  return <Page title="Webhooks">…</Page>;
}
