import { BudgetExhaustedError, UpstreamError } from '#upstream';
import type { Lookup } from './ports.js';
import { confirmMsOf, type RelaySettings } from './relay-settings.js';
import type { RelayStore } from './relay-store.js';
import { type SendRecord, type SendState, settled } from './send-record.js';

/** Between two times that a sighting is asked for; before that as much as the send is old. */
const LONGEST_WAIT_MS = 30_000;
/** A look that failed is made again after this at the soonest. */
const SOONEST_MS = 500;
/** For such a part of the time the polls that happen anyway are trusted to bring the message, sooner if asked. */
const PATIENT_PART = 1 / 4;

/** Sees to it that the message of a send that upstream took is found, and tells if it does not show up in time. */
export class SendConfirm {
  constructor(
    private readonly store: RelayStore,
    private readonly lookup: Lookup,
    private readonly settings: RelaySettings,
  ) {}

  /**
   * Asks once for the message of an accepted send. The time that it has counts down only while looks succeed, and it ends
   * with a complete one: an outage is nobody's fault of being late.
   */
  async confirm(account: string, record: SendRecord): Promise<void> {
    const { order, state } = record;
    if (state.status !== 'accepted') return;
    const now = await this.store.now(account);
    const begunAt = state.begunAt ?? order.createdAt;
    const age = Math.max(now - begunAt, 0);
    const confirmMs = confirmMsOf(order, this.settings);
    const leftMs = state.lookLeftMs ?? confirmMs;
    // Asked for again although the process that looks now may end: whoever does it counts from the last look that did not.
    const waiting = await this.store.transit(account, record, {
      happening: 'awaited',
      state,
      confirmInMs: Math.min(age, LONGEST_WAIT_MS),
    });
    if (waiting === undefined) return;
    if (age < confirmMs * PATIENT_PART) return this.hasten(account, order.phoneNumber);
    const look = await this.look(account, order.phoneNumber);
    const lookedAt = state.lookLeftMs === undefined ? begunAt : state.lookedAt;
    const seenMs = look === 'complete' ? Math.max(now - (lookedAt ?? now), 0) : 0;
    const left = leftMs - seenMs;
    const next: SendState = { ...waiting.state, lookLeftMs: left, lookedAt: now };
    // What passes from a look that failed to the next good one does not count either.
    if (look === 'failed') delete next.lookedAt;
    // One that was bound by the look itself has changed, and refuses both.
    if (look === 'complete' && left <= 0) {
      const over = { ...settled(waiting.state), lookLeftMs: 0 };
      await this.store.transit(account, waiting, {
        happening: 'unconfirmed',
        state: over,
        confirmInMs: null,
      });
      return;
    }
    const confirmInMs = Math.min(age, LONGEST_WAIT_MS, Math.max(left, SOONEST_MS));
    await this.store.transit(account, waiting, { happening: 'awaited', state: next, confirmInMs });
  }

  private async hasten(account: string, phoneNumber: string): Promise<void> {
    try {
      await this.lookup.expect(account, phoneNumber);
    } catch (error) {
      // It is asked for again.
      if (!(error instanceof UpstreamError) && !(error instanceof BudgetExhaustedError)) throw error;
    }
  }

  private async look(account: string, phoneNumber: string): Promise<'complete' | 'in part' | 'failed'> {
    try {
      return (await this.lookup.lookUp(account, phoneNumber)) ? 'complete' : 'in part';
    } catch (error) {
      if (error instanceof UpstreamError || error instanceof BudgetExhaustedError) return 'failed';
      throw error;
    }
  }
}
