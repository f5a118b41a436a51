import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function OverviewPage(): JSX.Element {
  return <Page title="Overview">…</Page>;
}
