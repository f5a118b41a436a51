import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ApiKeys } from '#accounts';
import type { GatewayEnvironment, Logger, Clock } from '#platform';
import type { BlobStore } from '#blobs';
import {
  type Acceptance,
  IdempotencyInProgressError,
  IdempotencyKeyReusedError,
  type SendIntake,
} from '#relay';
import { assertStillAllowed } from '../auth/still-allowed.js';
import { RedisReadiness } from '../health/redis-readiness.js';
import { invalid, Problem, unavailable } from '../problems/problem.js';
import { isStoreFault } from '../problems/store-fault.js';
import { API_KEYS, BLOB_STORE, ENVIRONMENT, LOGGER, SEND_INTAKE, CLOCK } from '../tokens.js';
import { fingerprintOf } from './fingerprint.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { KeyReservation } from './key-reservation.js';
import { MultipartForm } from './multipart-form.js';
import { readSendRequest } from './send-request.js';

/** Errors after which the send is surely not stored. */
const PROOFS = [Problem, IdempotencyKeyReusedError, IdempotencyInProgressError] as const;

/** Takes a request for a send, in either encoding, and hands it to the relay; a file stays stored only with its send. */
@Injectable()
export class SendAcceptance {
  constructor(
    @Inject(SEND_INTAKE) private readonly sends: SendIntake,
    @Inject(BLOB_STORE) private readonly blobs: BlobStore,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
    @Inject(API_KEYS) private readonly keys: ApiKeys,
    @Inject(RedisReadiness) private readonly readiness: RedisReadiness,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async accept(account: string, request: FastifyRequest): Promise<Acceptance> {
    const key = readIdempotencyKey(request.raw.rawHeaders);
    if (!request.isMultipart())
      return await this.store(account, key, undefined, request.body, undefined, request.id);

    await this.assertStorable();
    if (key === undefined) return await this.acceptForm(account, undefined, undefined, request);
    const reservation = await KeyReservation.take(this.sends, account, key, this.logger);
    let acceptance: Acceptance;
    try {
      acceptance = await this.acceptForm(account, key, reservation.owner, request);
    } catch (error) {
      // A store that does not answer has kept the caller waiting once already. The release sees to its own errors, and
      // one that never arrives is made good by the lease.
      if (isStoreFault(error)) void reservation.end();
      else await reservation.end();
      throw error;
    }
    await reservation.end();
    return acceptance;
  }

  /** @param owner of the key's reservation, without which two uploads of one key could be read at once */
  private async acceptForm(
    account: string,
    key: string | undefined,
    owner: string | undefined,
    request: FastifyRequest,
  ): Promise<Acceptance> {
    const form = new MultipartForm(request, this.blobs, account, this.environment.UPLOAD_MAX_BYTES);
    await form.read();
    await this.assertStillAllowed(form, request);
    try {
      const acceptance = await this.store(account, key, owner, form.fields, form, request.id);
      // The first request's file is the one that is sent.
      if (acceptance.replayed) await form.discard();
      return acceptance;
    } catch (error) {
      await this.discardUnlessStored(form, error, request.id);
      throw error;
    }
  }

  /** An upload may take minutes, in which its key may be revoked. */
  private async assertStillAllowed(form: MultipartForm, request: FastifyRequest): Promise<void> {
    try {
      await assertStillAllowed(this.keys, request);
    } catch (error) {
      await form.discard();
      throw error;
    }
  }

  private async store(
    account: string,
    key: string | undefined,
    owner: string | undefined,
    fields: unknown,
    form: MultipartForm | undefined,
    requestId: string,
  ): Promise<Acceptance> {
    const send = readSendRequest(fields, form?.file);
    const idempotency =
      key === undefined
        ? undefined
        : { key, fingerprint: fingerprintOf(send), ...(owner === undefined ? {} : { owner }) };
    if (send.expiresAt !== undefined && send.expiresAt <= this.clock.now()) {
      // What was accepted in its time is answered as it was then.
      const earlier = idempotency === undefined ? undefined : await this.sends.recall(account, idempotency);
      if (earlier !== undefined) return earlier;
      throw invalid({ field: 'expiresAt', message: 'must be in the future' });
    }
    return await this.sends.accept(account, send, idempotency, requestId);
  }

  /**
   * Only an error that says so is proof that the send is not stored: the store's answer may have been lost, and the
   * file of a stored send must not be missing.
   */
  private async discardUnlessStored(form: MultipartForm, error: unknown, requestId: string): Promise<void> {
    if (PROOFS.some((proof) => error instanceof proof)) {
      await form.discard();
      return;
    }
    if (form.file === undefined) return;
    this.logger.warn(
      { requestId, blobId: form.file.blobId },
      'kept the file of a send that may or may not be stored',
    );
  }

  /** Before the first byte of a file: an outage must not fill the disk with files whose sends cannot be stored. */
  private async assertStorable(): Promise<void> {
    const { status, reasons } = await this.readiness.check();
    if (status === 'unavailable') throw unavailable(reasons.join('; '));
  }
}
