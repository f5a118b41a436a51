import { Inject, Injectable } from '@nestjs/common';
import { EVENT_WAITS } from '../tokens.js';
import type { WaitSettings } from './wait-settings.js';

/** An acquired waiting slot, or the limit that is reached. */
export type WaitingSlot =
  { acquired: true; release: () => void } | { acquired: false; full: 'gateway' | 'account' };

/** Limits the number of simultaneous long polls and event streams. */
@Injectable()
export class WaitingSlots {
  private taken = 0;
  private readonly byAccount = new Map<string, number>();

  constructor(@Inject(EVENT_WAITS) private readonly settings: WaitSettings) {}

  /** Acquires a slot. The caller must release an acquired slot. */
  acquire(account: string): WaitingSlot {
    const { maxWaiting, maxPerAccount } = this.settings;
    const own = this.byAccount.get(account) ?? 0;
    if (own >= maxPerAccount) return { acquired: false, full: 'account' };
    if (this.taken >= maxWaiting) return { acquired: false, full: 'gateway' };
    this.count(account, 1);
    return {
      acquired: true,
      release: () => {
        this.count(account, -1);
      },
    };
  }

  private count(account: string, change: 1 | -1): void {
    this.taken += change;
    const own = (this.byAccount.get(account) ?? 0) + change;
    if (own === 0) this.byAccount.delete(account);
    else this.byAccount.set(account, own);
  }
}
