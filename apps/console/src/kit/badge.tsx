import type { Delivery, Send } from '#client';
import type { ComponentChildren, JSX } from 'preact';

/** What a state means to the user: done, in progress, needs attention, failed, or none of these. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'plain';

const MARKS: Readonly<Record<Tone, string>> = { good: '✓', busy: '•', warn: '!', bad: '✕', plain: '' };

/** A state in one word. A colour shows its tone, and so does a mark, for users who cannot see the colour. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  return (
    <span class={`badge ${tone}`}>
      {MARKS[tone] !== '' && <span aria-hidden="true">{MARKS[tone]}</span>}
      {children}
    </span>
  );
}

const SEND_TONES: Readonly<Record<string, Tone>> = {
  scheduled: 'plain',
  queued: 'busy',
  relaying: 'busy',
  accepted: 'busy',
  sent: 'good',
  delivered: 'good',
  read: 'good',
  unknown: 'warn',
  failed: 'bad',
  expired: 'bad',
  cancelled: 'plain',
} satisfies Record<Send['status'], Tone>;

/** The status of a send. */
export function SendBadge({ status }: { status: string }): JSX.Element {
  return <Badge tone={SEND_TONES[status] ?? 'plain'}>{status}</Badge>;
}

const DELIVERY_TONES: Readonly<Record<string, Tone>> = {
  pending: 'busy',
  succeeded: 'good',
  failed: 'bad',
  missed: 'warn',
} satisfies Record<Delivery['status'], Tone>;

/** The status of a delivery. */
export function DeliveryBadge({ status }: { status: string }): JSX.Element {
  return <Badge tone={DELIVERY_TONES[status] ?? 'plain'}>{status}</Badge>;
}
