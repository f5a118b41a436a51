import type { Webhook } from '#client';
import type { JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { Code } from '../kit/copy.js';
import { verifiersOf } from './verifiers.js';

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

/**
 * Code of receivers that verify the deliveries of a webhook, with one tab per language. Arrow keys change the tab.
 */
export function VerifierTabs({
  webhook,
}: {
  webhook: Pick<Webhook, 'url' | 'eventTypes'>;
}): JSX.Element | null {
  const [index, setIndex] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const verifiers = verifiersOf(webhook);
  const shown = verifiers[index];
  if (shown === undefined) return null;
  const go = (next: number): void => {
    setIndex(next);
    list.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div class="stack">
      <div ref={list} class="switch" role="tablist" aria-label="Language">
        {verifiers.map(({ language }, i) => (
          <button
            key={language}
            type="button"
            role="tab"
            class="button"
            id={`${id}-${i}`}
            aria-selected={i === index}
            aria-controls={`${id}-panel`}
            tabIndex={i === index ? 0 : -1}
            onClick={() => {
              setIndex(i);
            }}
            onKeyDown={({ key }) => {
              const step = STEPS[key];
              if (step !== undefined) go((index + step + verifiers.length) % verifiers.length);
            }}
          >
            {language}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${index}`} class="stack">
        <p class="quiet">
          A complete receiver. It needs {shown.needs}, and reads the signing secret from the environment
          variable <code>WEBHOOK_SECRET</code>.
        </p>
        <Code text={shown.code} label={`Receiver in ${shown.language}`} />
      </div>
    </div>
  );
}
