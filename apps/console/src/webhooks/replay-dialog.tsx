import type { NewReplay, StartedReplay } from '#client';
import { useQuery } from '@tanstack/preact-query';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { part, useApi } from '../api/api.js';
import { keyOf } from '../api/queries.js';
import { Confirmation } from '../kit/dialog.js';
import { ChoiceField, TextField } from '../kit/fields.js';
import { Failure } from '../kit/page.js';
import { countText } from '../kit/text.js';
import { EventTypeFields } from './event-type-choice.js';
import { localText, type ReplayDraft, replayOf, type ReplayScope, type ReplaySpan } from './replay-window.js';
import { ALL_TYPES } from './webhook-draft.js';

/** The deliveries are counted when the fields have not changed for this time, in milliseconds. */
const PAUSE_MS = 250;

const SCOPES: readonly { value: ReplayScope; label: string }[] = [
  { value: 'failed', label: 'Events whose delivery failed' },
  {
    value: 'missed',
    label:
      'Missed events: from before the webhook existed, while it was disabled, or while its backlog was full',
  },
  { value: 'pending', label: 'Events that wait for a retry: retry now' },
  { value: 'all', label: 'All events, including delivered events' },
];
const SPANS: readonly { value: ReplaySpan; label: string }[] = [
  { value: 'hour', label: 'The last hour' },
  { value: 'day', label: 'The last 24 hours' },
  { value: 'week', label: 'The last 7 days' },
  { value: 'custom', label: 'A time range of your choice' },
];
const SINCE_TROUBLE = { value: 'trouble', label: 'Since it began to fail or was disabled' } as const;

interface ReplayDialogProps {
  webhookId: string;
  /** Initial selection. */
  scope: ReplayScope;
  troubleSince: string | undefined;
  /** Called with the number of deliveries of a started replay. */
  onReplayed: (count: number) => Promise<void>;
  onClose: () => void;
}

/** Selects events, counts them, and delivers them again. */
export function ReplayDialog(props: ReplayDialogProps): JSX.Element {
  const { webhookId, scope, troubleSince, onReplayed, onClose } = props;
  const api = useApi();
  const [now] = useState(Date.now);
  const [draft, setDraft] = useState<ReplayDraft>(() => ({
    span: troubleSince === undefined ? 'day' : 'trouble',
    since: localText(now - 3_600_000),
    until: '',
    only: scope,
    eventTypes: ALL_TYPES,
  }));
  const change = (changes: Partial<ReplayDraft>): void => {
    setDraft({ ...draft, ...changes });
  };
  const path = `/v1/webhooks/${part(webhookId)}/replay`;
  const read = replayOf(draft, now, troubleSince);
  const request = 'request' in read ? read.request : undefined;
  const faultOf = (field: string): string | undefined =>
    'field' in read && read.field === field ? read.fault : undefined;
  return (
    <Confirmation
      title="Replay events"
      verb="Replay"
      cancel="Cancel"
      disabledBecause={request === undefined ? 'Complete the fields first.' : undefined}
      action={async () => {
        await onReplayed((await api.change<StartedReplay>('POST', path, request)).count);
      }}
      onClose={onClose}
    >
      <div class="form">
        <ChoiceField
          label="Which events"
          value={draft.only}
          choices={SCOPES}
          onChange={(only) => {
            change({ only });
          }}
        />
        <ChoiceField
          label="Time range"
          value={draft.span}
          choices={troubleSince === undefined ? SPANS : [SINCE_TROUBLE, ...SPANS]}
          hint={draft.span === 'trouble' ? 'Includes the five minutes before that time.' : undefined}
          onChange={(span) => {
            change({ span });
          }}
        />
        {draft.span === 'custom' && <CustomTimes draft={draft} faultOf={faultOf} onChange={change} />}
        <EventTypeFields
          label="Event types"
          allLabel="All event types of the webhook"
          value={draft.eventTypes}
          fault={faultOf('eventTypes')}
          onChange={(eventTypes) => {
            change({ eventTypes });
          }}
        />
        {request !== undefined && <Count path={path} request={request} />}
      </div>
    </Confirmation>
  );
}

function CustomTimes(props: {
  draft: ReplayDraft;
  faultOf: (field: string) => string | undefined;
  onChange: (changes: Partial<ReplayDraft>) => void;
}): JSX.Element {
  const { draft, faultOf, onChange } = props;
  return (
    <>
      <TextField
        label="From"
        type="datetime-local"
        value={draft.since}
        fault={faultOf('since')}
        onInput={(since) => {
          onChange({ since });
        }}
      />
      <TextField
        label="Until"
        type="datetime-local"
        value={draft.until}
        hint="If this is empty, the time range ends now."
        fault={faultOf('until')}
        onInput={(until) => {
          onChange({ until });
        }}
      />
    </>
  );
}

/** Shows, before a replay is started, how many deliveries it would attempt. */
function Count({ path, request }: { path: string; request: NewReplay }): JSX.Element {
  const api = useApi();
  const count = useQuery({
    queryKey: [...keyOf(api, path), request],
    queryFn: async ({ signal }) => {
      // Each keystroke changes the request. So the deliveries are counted only when the user pauses.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      signal.throwIfAborted();
      return await api.change<StartedReplay>('POST', path, { ...request, dryRun: true });
    },
  });
  if (count.error !== null) return <Failure error={count.error} retry={count.refetch} />;
  return (
    <p role="status" class="replay-count">
      {count.data === undefined ? (
        'Counting …'
      ) : count.data.count === 0 ? (
        'No event matches: nothing would be delivered.'
      ) : (
        <>
          <strong>{countText(count.data.count, 'delivery', 'deliveries')}</strong> will be attempted.
        </>
      )}
    </p>
  );
}
