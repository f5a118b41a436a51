import type { LedgerEvent } from '../ledger-entries.js';
import type { Settings } from '../settings.js';
import type { Clock } from './clock.js';
import type { Ids } from './ids.js';
import type { RandomStreams } from './random.js';
import type { Timetable } from './timetable.js';

/** Objects that all parts of one world share. */
export interface WorldContext {
  /** Phone number of the account. */
  readonly accountNumber: string;
  readonly clock: Clock;
  readonly timetable: Timetable;
  readonly random: RandomStreams;
  readonly ids: Ids;
  settings(): Readonly<Settings>;
  record(event: LedgerEvent): void;
  /** Called after a change that the phone page shows or the state file keeps. Null: everything may have changed. */
  changed(contactId: string | null): void;
}

/** Returns the time of upstream's clock: the world's time plus the clock skew. */
export function upstreamNow(context: Pick<WorldContext, 'clock' | 'settings'>): number {
  return context.clock.now() + context.settings().clockSkewMs;
}
