import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function QueuesPage(): JSX.Element {
  return <Page title="Queues">…</Page>;
}
