import { type Logger, newId } from '#platform';
import { RESERVATION_MS, type SendIntake } from '#relay';

/** Keeps an idempotency key for one request for as long as its body is read; a gateway that dies lets go of it. */
export class KeyReservation {
  readonly owner = newId('req');
  private readonly renewal: NodeJS.Timeout;

  private constructor(
    private readonly sends: SendIntake,
    private readonly account: string,
    private readonly key: string,
    private readonly logger: Logger,
  ) {
    this.renewal = setInterval(() => void this.renew(), RESERVATION_MS / 4);
  }

  /** @throws {IdempotencyInProgressError} */
  static async take(
    sends: SendIntake,
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

  /** Lets go of the key; one that has its send by now is left as it is. */
  async end(): Promise<void> {
    clearInterval(this.renewal);
    try {
      await this.sends.release(this.account, this.key, this.owner);
    } catch (error) {
      this.logger.warn({ account: this.account, err: error }, 'a reservation is left to its lease');
    }
  }

  private async renew(): Promise<void> {
    try {
      await this.sends.reserve(this.account, this.key, this.owner);
    } catch (error) {
      // Whether it still holds is decided when the send is stored.
      this.logger.warn({ account: this.account, err: error }, 'a reservation could not be renewed');
    }
  }
}
