import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { Section } from '../kit/page.js';
import { VerifierTabs } from './verifier-tabs.js';

/** Code for the receiver of a webhook. */
export function VerifySection({ webhook }: { webhook: Webhook }): JSX.Element {
  return (
    <Section title="Code that verifies deliveries">
      <p class="quiet">
        Each delivery is signed as specified by Standard Webhooks. Most languages have a library for this. A
        receiver must verify the signature before it trusts the event.
      </p>
      <VerifierTabs webhook={webhook} />
    </Section>
  );
}
