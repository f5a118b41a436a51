import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function AuditPage(): JSX.Element {
  return <Page title="Audit log">…</Page>;
}
