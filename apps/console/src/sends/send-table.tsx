import type { Send } from '#client';
import type { JSX } from 'preact';
import { to, withParameters } from '../kit/address.js';
import { SendBadge } from '../kit/badge.js';
import { type Column, None, Table } from '../kit/table.js';
import { Time } from '../kit/time.js';
import { attemptSentence, isResendable, previewOf } from './send-text.js';

/** The sends that the user has selected for an action on all of them. */
export interface Selection {
  ids: ReadonlySet<string>;
  toggle: (id: string) => void;
}

/** A list of sends. With a selection, those that can be resolved have check boxes. */
export function SendTable(props: { sends: readonly Send[]; selection: Selection | undefined }): JSX.Element {
  const { sends, selection } = props;
  const columns: readonly Column<Send>[] = [
    ...(selection === undefined ? [] : [selectColumn(selection)]),
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Recipient', cell: ({ id, phoneNumber }) => <a href={to('sends', id)}>{phoneNumber}</a> },
    { title: 'Text', cell: (send) => <span class="preview">{previewOf(send)}</span> },
    { title: 'Status', cell: (send) => <Status send={send} /> },
    {
      title: 'Reference',
      cell: ({ reference }) =>
        reference === null ? (
          <None />
        ) : (
          <a class="reference" title={reference} href={withParameters(to('sends'), { reference })}>
            {reference}
          </a>
        ),
    },
    { title: 'Last attempt', cell: (send) => <LastAttempt send={send} /> },
  ];
  return <Table caption="Sends" columns={columns} rows={sends} keyOf={({ id }) => id} />;
}

function selectColumn({ ids, toggle }: Selection): Column<Send> {
  return {
    title: 'Selected',
    isTitleHidden: true,
    cell: (send) =>
      isResendable(send) && (
        <label class="select">
          <input
            type="checkbox"
            checked={ids.has(send.id)}
            onChange={() => {
              toggle(send.id);
            }}
          />
          <span class="hidden">
            Select the send to {send.phoneNumber}: {previewOf(send).slice(0, 60)}
          </span>
        </label>
      ),
  };
}

function Status({ send: { status, sendAt } }: { send: Send }): JSX.Element {
  return (
    <span class="send-status">
      <SendBadge status={status} />
      {status === 'scheduled' && <Time at={sendAt} />}
    </span>
  );
}

function LastAttempt({ send: { attempts } }: { send: Send }): JSX.Element {
  const last = attempts.at(-1);
  if (last === undefined) return <None />;
  return (
    <span class="last-attempt" title={last.error ?? attemptSentence(last)}>
      <Time at={last.at} />
      {last.outcome !== 'accepted' && <span class="error">{last.error ?? attemptSentence(last)}</span>}
    </span>
  );
}
