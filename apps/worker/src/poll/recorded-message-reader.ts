import type { EventLog } from '#events';
import type { RecordedMessages } from '#feed';

/** Reads the last known content of messages from the event log. */
export class RecordedMessageReader implements RecordedMessages {
  constructor(private readonly log: EventLog) {}

  async lastRecordedForm(
    account: string,
    subject: string,
    revision: number,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const event = await this.log.findRevision(account, subject, revision);
    return event === undefined
      ? undefined
      : (JSON.parse(event.data) as { message?: Record<string, unknown> }).message;
  }
}
