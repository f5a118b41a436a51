import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function ConversationsPage(): JSX.Element {
  return <Page title="Conversations">…</Page>;
}
