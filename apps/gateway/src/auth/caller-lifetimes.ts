import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import type { Clock } from '#platform';
import { AUTHENTICATOR, CLOCK } from '../tokens.js';
import type { Authenticator } from './authenticator.js';
import { callerOf } from './caller.js';
import { RevocationWatch } from './revocation-watch.js';
import { assertStillAllowed, recheckCaller } from './still-allowed.js';

/**
 * Minimum time until a session is checked again, in milliseconds. A check may come a little before the session's end,
 * because this process only estimates Redis' clock.
 */
const MIN_RECHECK_MS = 100;

/** The time during which the caller of a long request may be served. */
export interface CallerLifetime {
  /**
   * Aborts when the token or session of the caller ends, or when its API key is revoked. Never aborts for a caller
   * that uses an API key directly.
   */
  ended: AbortSignal;
  /** Must be called at the end of the request. */
  release: () => void;
}

/** Ends event streams and long polls when their token or session has ended. */
@Injectable()
export class CallerLifetimes {
  constructor(
    @Inject(AUTHENTICATOR) private readonly authenticator: Authenticator,
    @Inject(RevocationWatch) private readonly watch: RevocationWatch,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Follows the lifetime of the caller of a request.
   * @throws {Problem} `unauthenticated` if the token or session has ended since the request was authenticated
   */
  async follow(request: FastifyRequest): Promise<CallerLifetime> {
    const aborter = new AbortController();
    const caller = callerOf(request);
    const credential = caller === undefined ? undefined : credentialOf(caller);
    if (caller === undefined || credential === undefined)
      return { ended: aborter.signal, release: () => undefined };
    const end = (): void => {
      aborter.abort();
    };
    const unfollow = await this.watch.follow([credential.id, caller.keyId], end);
    const stopTimer = this.atEnd(request, credential.endsAt, end);
    const release = (): void => {
      stopTimer();
      unfollow();
    };
    try {
      await assertStillAllowed(this.authenticator, request);
    } catch (error) {
      release();
      throw error;
    }
    return { ended: aborter.signal, release };
  }

  /**
   * Calls `end` at the end of a token or session. A session that other requests have extended meanwhile is followed
   * until its new end.
   */
  private atEnd(request: FastifyRequest, endsAt: number, end: () => void): () => void {
    let isStopped = false;
    let timer: NodeJS.Timeout;
    const check = async (): Promise<void> => {
      // An error ends the request too: a client whose session is still valid connects again.
      const session = (await recheckCaller(this.authenticator, request).catch(() => undefined))?.session;
      if (isStopped) return;
      if (session === undefined) end();
      else arm(Math.max(session.endsAt, this.clock.now() + MIN_RECHECK_MS));
    };
    const arm = (at: number): void => {
      const onTime = callerOf(request)?.session === undefined ? end : () => void check();
      timer = setTimeout(onTime, at - this.clock.now());
    };
    arm(endsAt);
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }
}

/** Returns the id and the end of the token or session of a caller, or undefined for a caller with an API key. */
function credentialOf({
  tokenId,
  expiresAt,
  session,
}: Principal): { id: string; endsAt: number } | undefined {
  if (session !== undefined) return session;
  return tokenId === undefined || expiresAt === undefined ? undefined : { id: tokenId, endsAt: expiresAt };
}
