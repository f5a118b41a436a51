import type { AgendaHints } from '#platform';
import type { PollAgenda } from '../ports.js';

/** The rounds of the polling role. */
export const POLL_ROUND = {
  /** Contacts are due. */
  due: 'due',
  /** The contact list is to be read. */
  contacts: 'contacts',
  /** An outage is to be probed. */
  probe: 'probe',
} as const;

/** {@link PollAgenda} by hints. */
export class PollHints implements PollAgenda {
  constructor(private readonly hints: Pick<AgendaHints, 'tell'>) {}

  at(account: string, dueAtMs: number): void {
    this.hints.tell(account, POLL_ROUND.due, { atMs: dueAtMs });
  }
}
