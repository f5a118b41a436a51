import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { Section } from '../kit/page.js';
import { VerifierTabs } from './verifier-tabs.js';

/** Code for the receiver of a webhook. */
export function VerifySection({ webhook }: { webhook: Webhook }): JSX.Element {
  return (
    <Section title="Code that verifies">
      <p class="quiet">
        Each delivery is signed by the rules of Standard Webhooks, for which most languages have a library. A
        receiver must verify the signature before it trusts the event.
      </p>
      <VerifierTabs webhook={webhook} />
    </Section>
  );
}
