import type { Logger } from '#platform';
import type { VolatileFieldStore } from '../form/volatile-fields.js';
import type { VolatileMessageFieldsUpdate } from '../form/volatile-message-fields.js';

/** Logs and counts which fields of messages a read muted and unmuted. */
export class VolatilityLog {
  constructor(
    private readonly logger: Logger,
    private readonly counts?: VolatileFieldStore,
  ) {}

  async record(
    account: string,
    contactId: string,
    { newlyMuted: muted, newlyUnmuted: unmuted }: VolatileMessageFieldsUpdate,
  ): Promise<void> {
    if (muted.length > 0) {
      this.logger.info(
        { account, contactId, fields: muted },
        'message fields are muted, because their values differ at nearly every read: changes of these fields emit no events',
      );
    }
    if (unmuted.length > 0) {
      this.logger.info(
        { account, contactId, fields: unmuted },
        'message fields are no longer muted: changes of these fields emit events again',
      );
    }
    await this.counts?.countMessageFields(account, { muted, unmuted });
  }
}
