import type { ResolutionResult, ResolutionResults, Send, SendsResolution } from '#client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { useRefresh } from '../api/queries.js';
import { Button } from '../kit/button.js';
import { CheckField } from '../kit/fields.js';
import { countText } from '../kit/text.js';
import { type Outcome, ResolveDialog, ResolveResults, VERBS } from './resolve-dialog.js';
import { isUndecided } from './send-text.js';

/** Maximum number of sends in one request. */
export const MAX_SELECTED = 100;

/** Resolves the selected sends. Failed sends can only be sent again. */
export function SelectionBar(props: {
  /** The listed sends that can be selected. */
  selectable: readonly Send[];
  selected: readonly Send[];
  onSelect: (ids: readonly string[]) => void;
}): JSX.Element {
  const { selectable, selected, onSelect } = props;
  const api = useApi();
  const refresh = useRefresh();
  const [asked, setAsked] = useState<{ outcome: Outcome; sends: readonly Send[] }>();
  const [results, setResults] = useState<readonly ResolutionResult[]>();
  const undecided = selected.filter(isUndecided);
  const most = selectable.slice(0, MAX_SELECTED);
  const record = (outcome: 'sent' | 'failed'): JSX.Element => (
    <Button
      disabledBecause={
        undecided.length === 0
          ? 'Only the outcome of a send with the status unknown can be recorded.'
          : undefined
      }
      onClick={() => {
        setAsked({ outcome, sends: undecided });
      }}
    >
      {VERBS[outcome]}
      {undecided.length > 0 && undecided.length < selected.length && ` (${undecided.length})`}
    </Button>
  );
  return (
    <div class="selection" role="group" aria-label="Selected sends">
      {most.length > 0 && (
        <CheckField
          label={`Select all that can be resolved (${most.length})`}
          isChecked={selected.length > 0 && selected.length === most.length}
          onChange={(isChecked) => {
            onSelect(isChecked ? most.map(({ id }) => id) : []);
          }}
        />
      )}
      {selected.length > 0 && (
        <>
          <span role="status">{countText(selected.length, 'send', 'sends')} selected</span>
          <Button
            onClick={() => {
              setAsked({ outcome: 'resend', sends: selected });
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
          outcome={asked.outcome}
          count={asked.sends.length}
          action={async () => {
            const body: SendsResolution = { ids: asked.sends.map(({ id }) => id), outcome: asked.outcome };
            setResults((await api.change<ResolutionResults>('POST', '/v1/sends/resolve', body)).results);
            onSelect([]);
            await refresh('/v1/sends');
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
