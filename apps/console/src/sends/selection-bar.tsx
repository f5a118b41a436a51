import type { ResolutionResult, Send } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../kit/button.js';
import { CheckField } from '../kit/fields.js';
import { countText } from '../kit/text.js';
import { type Outcome, ResolveDialog, ResolveResults, VERBS } from './resolve-dialog.js';
import { isUndecided } from './send-text.js';

/** Maximum number of sends in one request. */
export const MAX_SELECTED = 100;

/** Resolves the selected sends. Those that failed can only be sent again. */
export function SelectionBar(props: {
  /** The listed sends that can be selected. */
  selectable: readonly Send[];
  selected: readonly Send[];
  onSelect: (ids: readonly string[]) => void;
}): JSX.Element {
  const { selectable, selected, onSelect } = props;
  const [asked, setAsked] = useState<Outcome>();
  const [results, setResults] = useState<readonly ResolutionResult[]>();
  const undecided = selected.filter(isUndecided);
  const most = selectable.slice(0, MAX_SELECTED);
  const record = (outcome: 'sent' | 'failed'): JSX.Element => (
    <Button
      disabledBecause={
        undecided.length === 0 ? 'Only a send with the status unknown can be recorded.' : undefined
      }
      onClick={() => {
        setAsked(outcome);
      }}
    >
      {VERBS[outcome]}
      {undecided.length > 0 && undecided.length < selected.length && ` (${undecided.length})`}
    </Button>
  );
  return (
    <div class="selection" role="group" aria-label="Selected sends">
      <CheckField
        label={`Select all that can be resolved (${most.length})`}
        isChecked={selected.length > 0 && selected.length === most.length}
        onChange={(isChecked) => {
          onSelect(isChecked ? most.map(({ id }) => id) : []);
        }}
      />
      {selected.length > 0 && (
        <>
          <span role="status">{countText(selected.length, 'send', 'sends')} selected</span>
          <Button
            onClick={() => {
              setAsked('resend');
            }}
          >
            {VERBS.resend}
          </Button>
          {record('sent')}
          {record('failed')}
        </>
      )}
      {asked !== undefined && (
        <ResolveDialog
          outcome={asked}
          sends={asked === 'resend' ? selected : undecided}
          onResolved={(resolved) => {
            setResults(resolved);
            onSelect([]);
          }}
          onClose={() => {
            setAsked(undefined);
          }}
        />
      )}
      {results !== undefined && asked === undefined && (
        <ResolveResults
          results={results}
          onClose={() => {
            setResults(undefined);
          }}
        />
      )}
    </div>
  );
}
