import type { SendUpdate } from '#client';
import { useRef } from 'preact/hooks';
import { useApi } from '../api/api.js';
import { useLive, useRefresh } from '../api/queries.js';
import { useThrottled } from '../kit/use-throttled.js';

/** Minimum time between two reads because of changes, in milliseconds. */
const MIN_PAUSE_MS = 1_000;

/**
 * Shows new statuses of sends at once, and soon afterwards reads the shown sends again: at most one request a second,
 * however many sends change.
 * @param requests number of requests of one read
 */
export function useLiveSends(
  isWanted: (update: SendUpdate) => boolean,
  onUpdate: (update: SendUpdate) => void,
  requests = 1,
): void {
  const refresh = useRefresh();
  const api = useApi();
  const latest = useRef({ isWanted, onUpdate });
  latest.current = { isWanted, onUpdate };
  const revisions = useRef(new Map<string, number>());
  const readSoon = useThrottled(() => refresh('/v1/sends'), MIN_PAUSE_MS * requests);
  useLive(
    {
      types: ['send.updated'],
      onChange: (change) => {
        if (change.type !== 'send.updated') return;
        const { data } = change;
        if (!latest.current.isWanted(data)) return;
        if (data.revision < (revisions.current.get(data.id) ?? 0)) return;
        remember(revisions.current, data);
        latest.current.onUpdate(data);
        readSoon();
      },
      onGap: readSoon,
    },
    [api, readSoon],
  );
}

/** Number of sends whose revision is remembered. */
const MAX_REVISIONS = 2_000;

function remember(revisions: Map<string, number>, { id, revision }: SendUpdate): void {
  revisions.delete(id);
  revisions.set(id, revision);
  for (const oldest of revisions.keys()) {
    if (revisions.size <= MAX_REVISIONS) break;
    revisions.delete(oldest);
  }
}
