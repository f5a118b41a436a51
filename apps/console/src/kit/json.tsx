import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.js';
import { Code } from './copy.js';

/** Number of levels of a tree that are open at first. */
const OPEN_LEVELS = 3;
/** Number of entries of a list or object that are shown at once. */
const MAX_ENTRIES = 100;

/** JSON as a tree, and as text. */
export function Json({ value, label }: { value: unknown; label: string }): JSX.Element {
  const [isRaw, setRaw] = useState(false);
  return (
    <div class="json">
      <div class="switch" role="group" aria-label={`View of ${label}`}>
        <button
          type="button"
          class="button"
          aria-pressed={!isRaw}
          onClick={() => {
            setRaw(false);
          }}
        >
          Tree
        </button>
        <button
          type="button"
          class="button"
          aria-pressed={isRaw}
          onClick={() => {
            setRaw(true);
          }}
        >
          Raw
        </button>
      </div>
      {isRaw ? (
        <Code text={JSON.stringify(value, null, 2)} label={label} />
      ) : (
        <div class="tree">
          <Node value={value} level={0} />
        </div>
      )}
    </div>
  );
}

function Node({ name, value, level }: { name?: string; value: unknown; level: number }): JSX.Element {
  const [shown, setShown] = useState(MAX_ENTRIES);
  const title = name === undefined ? null : <span class="key">{name}: </span>;
  if (typeof value !== 'object' || value === null)
    return (
      <div class="leaf">
        {title}
        <span class={typeof value}>{JSON.stringify(value)}</span>
      </div>
    );
  const entries: [string, unknown][] = Object.entries(value);
  const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details open={level < OPEN_LEVELS}>
      <summary>
        {title}
        <span class="quiet">{size}</span>
      </summary>
      <div class="children">
        {entries.slice(0, shown).map(([key, child]) => (
          <Node key={key} name={key} value={child} level={level + 1} />
        ))}
        {entries.length > shown && (
          <Button
            look="quiet"
            onClick={() => {
              setShown(shown + MAX_ENTRIES);
            }}
          >
            Show more
          </Button>
        )}
      </div>
    </details>
  );
}
