import type { LedgerEvent } from '../ledger-entries.js';
import type { Settings } from '../settings.js';
import type { Clock } from './clock.js';
import type { Ids } from './ids.js';
import type { RandomStreams } from './random.js';
import type { Timetable } from './timetable.js';

/** What the parts of one world share. */
export interface WorldContext {
  /** The account's own number. */
  readonly accountNumber: string;
  readonly clock: Clock;
  readonly timetable: Timetable;
  readonly random: RandomStreams;
  readonly ids: Ids;
  settings(): Readonly<Settings>;
  record(event: LedgerEvent): void;
  /** Something that the phone page shows has changed. */
  changed(contactId: string): void;
}

/** What upstream's own clock shows: that of the world, off by the skew. */
export function upstreamNow(context: Pick<WorldContext, 'clock' | 'settings'>): number {
  return context.clock.now() + context.settings().clockSkewMs;
}
