import { Inject, Injectable } from '@nestjs/common';
import { EVENT_WAITS } from '../tokens.js';
import type { WaitSettings } from './wait-settings.js';

/** A place to wait in, or whose places are all taken. */
export type WaitingPlace =
  { granted: true; leave: () => void } | { granted: false; full: 'gateway' | 'account' };

/** Bounds the callers that wait for events: long polls and streams. */
@Injectable()
export class WaitingPlaces {
  private taken = 0;
  private readonly byAccount = new Map<string, number>();

  constructor(@Inject(EVENT_WAITS) private readonly settings: WaitSettings) {}

  take(account: string): WaitingPlace {
    const { mostWaiting, mostOfAccount } = this.settings;
    const own = this.byAccount.get(account) ?? 0;
    if (own >= mostOfAccount) return { granted: false, full: 'account' };
    if (this.taken >= mostWaiting) return { granted: false, full: 'gateway' };
    this.count(account, 1);
    return {
      granted: true,
      leave: () => {
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
