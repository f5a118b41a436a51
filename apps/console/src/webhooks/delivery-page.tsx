import type { JSX } from 'preact';
import { Page } from '../kit/page.js';

export function DeliveryPage(): JSX.Element {
  return <Page title="Delivery">…</Page>;
}
