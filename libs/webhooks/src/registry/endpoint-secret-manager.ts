import type { SecretCipher } from '#accounts';
import type { Clock } from '#platform';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import { generateSigningSecret } from '../endpoint/signature.js';
import type { StoredEndpoint, StoredSecret } from '../endpoint/stored-endpoint.js';
import { WebhookStateConflictError } from '../endpoint/webhook-state-conflict.js';

/** Max number of valid secrets of one endpoint. Each attempt is signed with all of them. */
const MAX_SECRETS = 5;

/** Result of a secret rotation. */
export interface SecretRotationResult {
  /** The new secret, which starts with `whsec_`. From now on, deliveries are signed with it. */
  secret: string;
  /** When the last of the previous secrets expires, as an ISO 8601 time. */
  previousExpireAt: string;
}

/** Reads and rotates the signing secrets of endpoints. */
export class EndpointSecretManager {
  constructor(
    private readonly store: Pick<EndpointStore, 'find' | 'change'>,
    private readonly cipher: SecretCipher,
    private readonly clock: Clock,
  ) {}

  /** Returns the newest secret of an endpoint, or undefined if the endpoint does not exist. */
  async find(account: string, id: string): Promise<string | undefined> {
    const endpoint = await this.store.find(account, id);
    const newest = endpoint?.secrets[0];
    return newest === undefined ? undefined : this.cipher.decrypt(newest.sealed, id);
  }

  /**
   * Gives an endpoint a new secret. Previous secrets stay valid for `overlapSeconds`, unless they expire earlier.
   * Returns undefined if the endpoint does not exist.
   * @throws {WebhookStateConflictError} if the endpoint would have too many valid secrets
   */
  async rotate(
    account: string,
    id: string,
    overlapSeconds: number,
  ): Promise<SecretRotationResult | undefined> {
    const secret = generateSigningSecret();
    const sealed = this.cipher.encrypt(secret, id);
    const end = this.clock.now() + overlapSeconds * 1000;
    const changed = await this.store.change(account, id, (endpoint) => ({
      ...endpoint,
      secrets: [{ sealed, expiresAt: null }, ...this.ending(endpoint, end)],
    }));
    return changed === undefined ? undefined : { secret, previousExpireAt: new Date(end).toISOString() };
  }

  /** Returns the secrets that are still valid, changed so that each of them expires at `end` at the latest. */
  private ending({ secrets }: StoredEndpoint, end: number): StoredSecret[] {
    const now = this.clock.now();
    const ending = secrets
      .map(({ sealed, expiresAt }) => ({ sealed, expiresAt: Math.min(expiresAt ?? end, end) }))
      .filter(({ expiresAt }) => expiresAt > now);
    if (ending.length < MAX_SECRETS) return ending;
    const first = new Date(Math.min(...ending.map(({ expiresAt }) => expiresAt))).toISOString();
    throw new WebhookStateConflictError(
      `The webhook already has ${ending.length} valid secrets. Rotate again after ${first}, when the first secret expires, ` +
        'or with a shorter overlapSeconds: 0 ends all of them at once.',
    );
  }
}
