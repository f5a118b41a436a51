import type { JSX } from 'preact';
import { ActionButton } from './button.js';

/** A button that copies a text. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }): JSX.Element {
  return (
    <ActionButton look="quiet" done="Copied" action={() => copy(text)}>
      {label}
    </ActionButton>
  );
}

/** An id that can be copied. */
export function Id({ of }: { of: string }): JSX.Element {
  return (
    <span class="id">
      <code>{of}</code>
      <Copy text={of} label="Copy" />
    </span>
  );
}

/** An id in a table, in one line. Its title contains the whole id, and the whole id can be selected. */
export function ShortId({ of }: { of: string }): JSX.Element {
  return (
    <code class="short-id" title={of}>
      {of}
    </code>
  );
}

/** Code that can be copied. */
export function Code({ text, label }: { text: string; label: string }): JSX.Element {
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <Copy text={text} />
    </div>
  );
}

/**
 * Copies a text: with the clipboard API if the page is secure, or by selecting the text if it came over plain HTTP.
 */
async function copy(text: string): Promise<void> {
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = document.createElement('textarea');
  field.value = text;
  const host = document.querySelector('dialog[open]') ?? document.body;
  host.append(field);
  field.select();
  // The only way to copy on a page without HTTPS. No browser has announced the removal of this method.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const isCopied = document.execCommand('copy');
  field.remove();
  if (!isCopied) throw new Error('The browser did not allow the page to copy. Select the text and copy it.');
}
