import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { FastifyRequest } from 'fastify';
import { AUTHENTICATOR } from '../tokens.js';
import type { Authenticator } from './authenticator.js';
import { callerOf } from './caller.js';
import { isStillAllowed } from './still-allowed.js';

/** Time for which event streams with the same API key, token or session share the result of a check, in milliseconds. */
const SHARED_MS = 1_000;
/** Maximum number of API keys, tokens and sessions whose last check is kept. */
const MAX_KEYS = 1_000;

/**
 * Checks the API keys, tokens and sessions of event streams. Streams with the same API key, token or session share
 * one check.
 */
@Injectable()
export class SharedChecks {
  private readonly checks = new LRUCache<string, Promise<boolean>>({ max: MAX_KEYS, ttl: SHARED_MS });

  constructor(@Inject(AUTHENTICATOR) private readonly authenticator: Authenticator) {}

  /** Resolves to true if the API key, token or session of the request of a stream is still valid for the stream. */
  isStillAllowed(request: FastifyRequest): Promise<boolean> {
    const { keyId = '', tokenId = '', session, account = '' } = callerOf(request) ?? {};
    const cacheKey = [account, keyId, tokenId, session?.id].join('\n');
    const known = this.checks.get(cacheKey);
    if (known !== undefined) return known;
    const check = isStillAllowed(this.authenticator, request);
    this.checks.set(cacheKey, check);
    return check;
  }
}
