import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function AccountsPage(): JSX.Element {
  return <Page title="Accounts">…</Page>;
}
