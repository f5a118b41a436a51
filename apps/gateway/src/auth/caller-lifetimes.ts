import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '#platform';
import { AUTHENTICATOR, CLOCK } from '../tokens.js';
import type { Authenticator } from './authenticator.js';
import { callerOf } from './caller.js';
import { RevocationWatch } from './revocation-watch.js';
import { assertStillAllowed } from './still-allowed.js';

/** The time during which the caller of a long request may be served. */
export interface CallerLifetime {
  /** Aborts when the caller's token expires or is revoked, or its API key is revoked. Never aborts for an API key. */
  ended: AbortSignal;
  /** Must be called at the end of the request. */
  release: () => void;
}

/** Ends long requests with a token: event streams and long polls. */
@Injectable()
export class CallerLifetimes {
  constructor(
    @Inject(AUTHENTICATOR) private readonly authenticator: Authenticator,
    @Inject(RevocationWatch) private readonly watch: RevocationWatch,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Follows the lifetime of the caller of a request.
   * @throws {Problem} `unauthenticated` if the token was revoked meanwhile
   */
  async follow(request: FastifyRequest): Promise<CallerLifetime> {
    const aborter = new AbortController();
    const { tokenId, keyId, expiresAt } = callerOf(request) ?? {};
    if (tokenId === undefined || keyId === undefined || expiresAt === undefined)
      return { ended: aborter.signal, release: () => undefined };
    const end = (): void => {
      aborter.abort();
    };
    const unfollow = await this.watch.follow([tokenId, keyId], end);
    const timer = setTimeout(end, expiresAt - this.clock.now());
    const release = (): void => {
      clearTimeout(timer);
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
}
