import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Principal } from '#accounts';
import type { GatewayEnvironment, Logger, Clock } from '#platform';
import type { BlobStore } from '#blobs';
import {
  type Acceptance,
  IdempotentRequestInProgressError,
  IdempotencyKeyReusedError,
  type SendService,
  type SendOrigin,
  SendQuotaExceededError,
} from '#relay';
import type { Authenticator } from '../auth/authenticator.js';
import { noSlotProblem } from '../auth/caller-slots.js';
import { ContactAccess } from '../auth/contact-access.js';
import { assertStillAllowed } from '../auth/still-allowed.js';
import { RedisReadiness } from '../health/redis-readiness.js';
import { invalid, Problem, unavailable } from '../problems/problem.js';
import { isStoreFault } from '../problems/store-fault.js';
import { traceOf } from '../tracing/request-traces.js';
import { AUTHENTICATOR, BLOB_STORE, ENVIRONMENT, LOGGER, SEND_SERVICE, CLOCK } from '../tokens.js';
import { fingerprintOf } from './fingerprint.js';
import { readIdempotencyKey, storedKeyOf } from './idempotency-key.js';
import { KeyReservation } from './key-reservation.js';
import { MultipartForm } from './multipart-form.js';
import { quotaOf } from './send-quota.js';
import { readSendRequest } from './send-request.js';
import { UploadSlots } from './upload-slots.js';

/** Errors that prove that the send was not stored. */
const NOT_STORED_ERRORS = [
  Problem,
  IdempotencyKeyReusedError,
  IdempotentRequestInProgressError,
  SendQuotaExceededError,
] as const;

/** Minimum lifetime of an idempotency key, in hours. */
const MIN_KEY_LIFETIME_HOURS = 24;

/** Reads a send request, as JSON or as a form, and stores the send. A file is kept only if its send is stored. */
@Injectable()
export class SendAcceptance {
  constructor(
    @Inject(SEND_SERVICE) private readonly sends: SendService,
    @Inject(BLOB_STORE) private readonly blobs: BlobStore,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
    @Inject(AUTHENTICATOR) private readonly authenticator: Authenticator,
    @Inject(ContactAccess) private readonly access: ContactAccess,
    @Inject(RedisReadiness) private readonly readiness: RedisReadiness,
    @Inject(UploadSlots) private readonly slots: UploadSlots,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Accepts one request. @throws {Problem} and the errors of {@link SendService.accept} and {@link SendService.reserve} */
  async accept(caller: Principal, request: FastifyRequest): Promise<Acceptance> {
    const given = readIdempotencyKey(request.raw.rawHeaders);
    const key = given === undefined ? undefined : storedKeyOf(caller, given);
    if (!request.isMultipart())
      return await this.store(caller, key, undefined, request.body, undefined, originOf(request));

    const slot = this.slots.acquire(caller);
    if (!slot.acquired) throw noSlotProblem(slot.reachedLimit, 'simultaneous uploads');
    try {
      return await this.acceptUpload(caller, key, request);
    } finally {
      slot.release();
    }
  }

  /** Accepts a request with a form. The idempotency key of the request, if any, is reserved meanwhile. */
  private async acceptUpload(
    caller: Principal,
    key: string | undefined,
    request: FastifyRequest,
  ): Promise<Acceptance> {
    await this.assertStorable();
    if (key === undefined) return await this.acceptForm(caller, undefined, undefined, request);
    const reservation = await KeyReservation.acquire(this.sends, caller.account, key, this.logger);
    let acceptance: Acceptance;
    try {
      acceptance = await this.acceptForm(caller, key, reservation.owner, request);
    } catch (error) {
      // An unresponsive store has already delayed the caller once, so the release is not awaited. It logs its own errors,
      // and the lease expires if the release fails.
      if (isStoreFault(error)) void reservation.end();
      else await reservation.end();
      throw error;
    }
    await reservation.end();
    return acceptance;
  }

  /** Reads and stores a send with a form. @param owner owner of the key's reservation, which allows one upload at a time */
  private async acceptForm(
    caller: Principal,
    key: string | undefined,
    owner: string | undefined,
    request: FastifyRequest,
  ): Promise<Acceptance> {
    const { UPLOAD_MAX_BYTES } = this.environment;
    const form = new MultipartForm(request, this.blobs, caller.account, UPLOAD_MAX_BYTES, this.logger);
    await form.read();
    await this.assertStillAllowed(form, request);
    try {
      const acceptance = await this.store(caller, key, owner, form.fields, form, originOf(request));
      // The send of the earlier request has its own file, so the file of this request is not needed.
      if (acceptance.replayed) await form.discard();
      return acceptance;
    } catch (error) {
      await this.discardUnlessStored(form, error, request.id);
      throw error;
    }
  }

  /** Checks the API key again, because it may have been revoked during a long upload. */
  private async assertStillAllowed(form: MultipartForm, request: FastifyRequest): Promise<void> {
    try {
      await assertStillAllowed(this.authenticator, request);
    } catch (error) {
      await form.discard();
      throw error;
    }
  }

  private async store(
    caller: Principal,
    key: string | undefined,
    owner: string | undefined,
    fields: unknown,
    form: MultipartForm | undefined,
    origin: SendOrigin,
  ): Promise<Acceptance> {
    const { account } = caller;
    const send = readSendRequest(fields, form?.file, caller);
    if (!(await this.access.maySeeNumber(caller, send.phoneNumber)))
      throw new Problem(
        'forbidden',
        'The token permits sends only to phone numbers of the contacts to which it is restricted.',
      );
    const idempotency =
      key === undefined
        ? undefined
        : {
            key,
            fingerprint: fingerprintOf(send),
            lifetimeMs: this.keyLifetimeMs(),
            ...(owner === undefined ? {} : { owner }),
          };
    if (send.expiresAt !== undefined && send.expiresAt <= this.clock.now()) {
      // A repeated request gets its first response, even after the send expired.
      const earlier = idempotency === undefined ? undefined : await this.sends.recall(account, idempotency);
      if (earlier !== undefined) return earlier;
      throw invalid({ field: 'expiresAt', message: 'must be in the future' });
    }
    return await this.sends.accept(account, send, idempotency, origin, quotaOf(caller));
  }

  /**
   * A caller may use the id of an event as the idempotency key of the send that answers the event. The key must then
   * be kept as long as the event can be delivered or replayed.
   */
  private keyLifetimeMs(): number {
    return Math.max(this.environment.EVENT_RETENTION_HOURS, MIN_KEY_LIFETIME_HOURS) * 3_600_000;
  }

  /**
   * Removes the file of a failed request if the error proves that the send was not stored. After any other error the
   * send may be stored although the store's reply was lost, so its file must stay.
   */
  private async discardUnlessStored(form: MultipartForm, error: unknown, requestId: string): Promise<void> {
    if (NOT_STORED_ERRORS.some((type) => error instanceof type)) {
      await form.discard();
      return;
    }
    if (form.file === undefined) return;
    this.logger.warn(
      { requestId, blobId: form.file.blobId },
      'did not remove an uploaded file, because the send that needs the file may have been stored',
    );
  }

  /**
   * Rejects an upload while Redis is unavailable, before the file is read. Otherwise an outage could fill the disk with
   * files whose sends cannot be stored.
   */
  private async assertStorable(): Promise<void> {
    const { status, reasons } = await this.readiness.check();
    if (status === 'unavailable') throw unavailable(reasons.join('; '));
  }
}

function originOf(request: FastifyRequest): SendOrigin {
  const trace = traceOf(request);
  return { requestId: request.id, ...(trace === undefined ? {} : { trace }) };
}
