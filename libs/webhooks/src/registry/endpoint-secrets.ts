import type { SecretBox } from '#accounts';
import type { Clock } from '#platform';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { newSigningSecret } from '../endpoint/signature.js';
import type { StoredEndpoint, StoredSecret } from '../endpoint/stored-endpoint.js';
import { WebhookConflictError } from '../endpoint/webhook-conflict.js';

/** Each of them signs every attempt; nobody needs more at a time. */
const MOST_SECRETS = 5;

/** What a rotation leads to. */
export interface Rotation {
  /** The new secret, `whsec_…`; signs from now on. */
  secret: string;
  /** Until when the secrets before it sign at the latest: ISO 8601. */
  previousExpireAt: string;
}

/** The signing secrets of endpoints. */
export class EndpointSecrets {
  constructor(
    private readonly store: Pick<EndpointStore, 'find' | 'change'>,
    private readonly box: SecretBox,
    private readonly clock: Clock,
  ) {}

  /** The newest secret, or undefined where there is no such endpoint. */
  async find(account: string, id: string): Promise<string | undefined> {
    const endpoint = await this.store.find(account, id);
    const newest = endpoint?.secrets[0];
    return newest === undefined ? undefined : this.box.open(newest.sealed, id);
  }

  /**
   * Gives an endpoint a new secret. Those that it has sign besides for `overlapSeconds` more, unless they end sooner.
   * @throws {WebhookConflictError} when too many would sign
   */
  async rotate(account: string, id: string, overlapSeconds: number): Promise<Rotation | undefined> {
    const secret = newSigningSecret();
    const sealed = this.box.seal(secret, id);
    const end = this.clock.now() + overlapSeconds * 1000;
    const changed = await this.store.change(account, id, (endpoint) => ({
      ...endpoint,
      secrets: [{ sealed, expiresAt: null }, ...this.ending(endpoint, end)],
    }));
    return changed === undefined ? undefined : { secret, previousExpireAt: new Date(end).toISOString() };
  }

  /** The secrets that still sign, none beyond `end`. */
  private ending({ secrets }: StoredEndpoint, end: number): StoredSecret[] {
    const now = this.clock.now();
    const ending = secrets
      .map(({ sealed, expiresAt }) => ({ sealed, expiresAt: Math.min(expiresAt ?? end, end) }))
      .filter(({ expiresAt }) => expiresAt > now);
    if (ending.length < MOST_SECRETS) return ending;
    const first = new Date(Math.min(...ending.map(({ expiresAt }) => expiresAt))).toISOString();
    throw new WebhookConflictError(
      `The webhook has ${ending.length} secrets that sign. Rotate again after ${first}, when the first of them ends, ` +
        'or with a shorter overlapSeconds: 0 ends all of them at once.',
    );
  }
}
