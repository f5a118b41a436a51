import { type Logger, newId } from '#platform';
import { IDEMPOTENCY_KEY_RESERVATION_MS, type SendService } from '#relay';

/**
 * Lease on an idempotency key while the body of its request is read. The lease is renewed regularly, and expires if the
 * gateway dies.
 */
export class KeyReservation {
  readonly owner = newId('req');
  private readonly renewal: NodeJS.Timeout;

  private constructor(
    private readonly sends: SendService,
    private readonly account: string,
    private readonly key: string,
    private readonly logger: Logger,
  ) {
    this.renewal = setInterval(() => void this.renew(), IDEMPOTENCY_KEY_RESERVATION_MS / 4);
  }

  /** Acquires the lease. @throws {IdempotentRequestInProgressError} if another request holds it */
  static async acquire(
    sends: SendService,
    account: string,
    key: string,
    logger: Logger,
  ): Promise<KeyReservation> {
    const reservation = new KeyReservation(sends, account, key, logger);
    try {
      await sends.reserve(account, key, reservation.owner);
    } catch (error) {
      clearInterval(reservation.renewal);
      throw error;
    }
    return reservation;
  }

  /** Stops the renewal and releases the lease. A key whose send is stored stays as it is. */
  async end(): Promise<void> {
    clearInterval(this.renewal);
    try {
      await this.sends.release(this.account, this.key, this.owner);
    } catch (error) {
      this.logger.warn(
        { account: this.account, err: error },
        'could not release the reservation of an idempotency key; the reservation expires soon',
      );
    }
  }

  private async renew(): Promise<void> {
    try {
      await this.sends.reserve(this.account, this.key, this.owner);
    } catch (error) {
      // Storing the send checks the lease again.
      this.logger.warn(
        { account: this.account, err: error },
        'could not extend the reservation of an idempotency key for a request in progress',
      );
    }
  }
}
