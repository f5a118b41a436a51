import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '#accounts';
import { EVENT_WAITS } from '../tokens.js';
import type { WaitSettings } from './wait-settings.js';

/** The limits of {@link WaitingSlots}, each by what it applies to. */
export type WaitingLimit = 'gateway' | 'account' | 'tokens' | 'token';

/** An acquired waiting slot, or the limit that is reached. */
export type WaitingSlot = { acquired: true; release: () => void } | { acquired: false; full: WaitingLimit };

/**
 * Limits the number of simultaneous long polls and event streams. A token has a limit of its own, and so have the tokens of
 * an account together, because a token may be in the hands of anyone who opens a page: tokens must not take the slots of
 * the account's services.
 */
@Injectable()
export class WaitingSlots {
  private taken = 0;
  private readonly byAccount = new Counts();
  private readonly ofTokensByAccount = new Counts();
  private readonly byToken = new Counts();

  constructor(@Inject(EVENT_WAITS) private readonly settings: WaitSettings) {}

  /** Acquires a slot. The caller must release an acquired slot. */
  acquire({ account, tokenId }: Pick<Principal, 'account' | 'tokenId'>): WaitingSlot {
    const { maxWaiting, maxPerAccount, maxPerAccountForTokens, maxPerToken } = this.settings;
    if (tokenId !== undefined) {
      if (this.byToken.of(tokenId) >= maxPerToken) return { acquired: false, full: 'token' };
      if (this.ofTokensByAccount.of(account) >= maxPerAccountForTokens)
        return { acquired: false, full: 'tokens' };
    }
    if (this.byAccount.of(account) >= maxPerAccount) return { acquired: false, full: 'account' };
    if (this.taken >= maxWaiting) return { acquired: false, full: 'gateway' };
    this.count(account, tokenId, 1);
    return {
      acquired: true,
      release: () => {
        this.count(account, tokenId, -1);
      },
    };
  }

  private count(account: string, tokenId: string | undefined, change: 1 | -1): void {
    this.taken += change;
    this.byAccount.add(account, change);
    if (tokenId === undefined) return;
    this.ofTokensByAccount.add(account, change);
    this.byToken.add(tokenId, change);
  }
}

/** Numbers by name. A number of 0 needs no memory. */
class Counts {
  private readonly counts = new Map<string, number>();

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  add(name: string, change: number): void {
    const count = this.of(name) + change;
    if (count === 0) this.counts.delete(name);
    else this.counts.set(name, count);
  }
}
