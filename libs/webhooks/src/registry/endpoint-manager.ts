import { type SecretCipher, SecretDecryptionError } from '#accounts';
import { type Clock, type Logger, newId } from '#platform';
import type { DeliveryJobs } from '../delivery/delivery-jobs.js';
import type { DeliveryStore } from '../delivery/delivery-store.js';
import { tryToWakeWorker } from '../delivery/wake-worker.js';
import type { WebhookUrlChecker } from '../destination/webhook-url-checker.js';
import type { EndpointStore } from '../endpoint/endpoint-store.js';
import type { Endpoint, EndpointChanges, EndpointRegistry, NewEndpoint } from '../endpoint/endpoint.js';
import { generateSigningSecret } from '../endpoint/signature.js';
import {
  decryptHeaders,
  toPublicEndpoint,
  encryptHeaders,
  type StoredEndpoint,
} from '../endpoint/stored-endpoint.js';

/** Implements {@link EndpointRegistry}. Checks URLs, creates signing secrets, and encrypts secrets and headers. */
export class EndpointManager implements EndpointRegistry {
  /** Ids of the endpoints for which this process has logged that their headers cannot be decrypted. */
  private readonly withUnreadableHeaders = new Set<string>();

  constructor(
    private readonly store: EndpointStore,
    private readonly deliveries: Pick<DeliveryStore, 'endPending'>,
    private readonly destinations: WebhookUrlChecker,
    private readonly cipher: SecretCipher,
    private readonly clock: Clock,
    private readonly jobs: DeliveryJobs,
    private readonly logger: Logger,
  ) {}

  async create(account: string, request: NewEndpoint): Promise<{ endpoint: Endpoint; secret: string }> {
    const url = await this.destinations.check(request.url);
    const id = newId('whk');
    const secret = generateSigningSecret();
    const now = new Date(this.clock.now()).toISOString();
    const stored: StoredEndpoint = {
      id,
      url,
      eventTypes: emptyIsNull(request.eventTypes),
      contactIds: emptyIsNull(request.contactIds),
      description: request.description ?? null,
      sealedHeaders: encryptHeaders(request.headers ?? {}, id, this.cipher),
      maxConcurrency: request.maxConcurrency ?? null,
      rateLimitPerSecond: request.rateLimitPerSecond ?? null,
      ordered: request.ordered ?? false,
      enabled: request.enabled ?? true,
      disabledReason: null,
      createdAt: now,
      updatedAt: now,
      secrets: [{ sealed: this.cipher.encrypt(secret, id), expiresAt: null }],
      revision: 1,
    };
    await this.store.add(account, stored);
    return { endpoint: this.view(account, stored), secret };
  }

  async list(account: string): Promise<Endpoint[]> {
    const stored = await this.store.list(account);
    return stored
      .map((endpoint) => this.view(account, endpoint))
      .sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id));
  }

  async find(account: string, id: string): Promise<Endpoint | undefined> {
    const stored = await this.store.find(account, id);
    return stored === undefined ? undefined : this.view(account, stored);
  }

  async change(account: string, id: string, changes: EndpointChanges): Promise<Endpoint | undefined> {
    const { url, headers, ...plain } = changes;
    // A client that writes all fields again and again must not end each pause that the receiver requested.
    const endsPause = plain.enabled === true && Object.keys(changes).length === 1;
    const checked = url === undefined ? {} : { url: await this.destinations.check(url) };
    const sealed =
      headers === undefined ? {} : { sealedHeaders: encryptHeaders(headers ?? {}, id, this.cipher) };
    const changed = await this.store.change(
      account,
      id,
      (before) => ({
        ...before,
        ...plain,
        ...checked,
        ...sealed,
        // If the caller sets `enabled`, the reason why Tidings disabled the webhook no longer applies.
        disabledReason: plain.enabled === undefined ? before.disabledReason : null,
      }),
      endsPause,
    );
    if (changed === undefined) return undefined;
    if (!changed.enabled) await this.endPending(account, id);
    // The change may have ended a pause or raised a limit, so that waiting deliveries can be attempted now.
    else void tryToWakeWorker(this.jobs, this.logger, account, [id]);
    return this.view(account, changed);
  }

  async remove(account: string, id: string): Promise<boolean> {
    const removed = await this.store.remove(account, id);
    this.withUnreadableHeaders.delete(id);
    if (removed) await this.endPending(account, id);
    return removed;
  }

  /**
   * Ends the pending deliveries. A failure is only logged, because the change itself is already stored. A worker then
   * ends the deliveries later.
   */
  private async endPending(account: string, id: string): Promise<void> {
    try {
      await this.deliveries.endPending(account, id);
    } catch (error) {
      this.logger.warn(
        { account, endpointId: id, err: error },
        'could not end the pending deliveries of a webhook; a worker tries again',
      );
    }
  }

  private view(account: string, stored: StoredEndpoint): Endpoint {
    const { id, url, eventTypes, contactIds, description, ...rest } = toPublicEndpoint(stored);
    const headers = this.readableHeaders(account, stored);
    return { id, url, eventTypes, contactIds, description, headers, ...rest };
  }

  /**
   * Returns no headers if they cannot be decrypted, so that callers can still list, disable and remove endpoints, and
   * replace the headers.
   */
  private readableHeaders(account: string, stored: StoredEndpoint): Record<string, string> {
    try {
      const headers = decryptHeaders(stored, this.cipher);
      this.withUnreadableHeaders.delete(stored.id);
      return headers;
    } catch (error) {
      if (!(error instanceof SecretDecryptionError)) throw error;
      if (!this.withUnreadableHeaders.has(stored.id)) {
        this.withUnreadableHeaders.add(stored.id);
        this.logger.error(
          { account, endpointId: stored.id, err: error },
          'the headers of a webhook cannot be decrypted and are shown as empty; its deliveries fail',
        );
      }
      return {};
    }
  }
}

function emptyIsNull(list: readonly string[] | undefined): readonly string[] | null {
  return list === undefined || list.length === 0 ? null : list;
}
