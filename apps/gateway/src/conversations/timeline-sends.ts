import type { SendsPage, TimelineSend, TimelineSends } from '#conversations';
import type { Send, SendHistory, SendWithTimes } from '#relay';

/** Reads the relay's sends for timelines. */
export class RelayedTimelineSends implements TimelineSends<Send> {
  constructor(private readonly history: SendHistory) {}

  async sendsTo(
    account: string,
    phoneNumber: string,
    limit: number,
    before: number | undefined,
  ): Promise<SendsPage<Send>> {
    const { sends, next } = await this.history.sendsTo(account, phoneNumber, limit, before);
    return { sends: sends.map(toTimelineSend), ...(next === undefined ? {} : { next }) };
  }

  async pendingTo(account: string, phoneNumber: string, limit: number): Promise<TimelineSend<Send>[]> {
    return (await this.history.pendingTo(account, phoneNumber, limit)).map(toTimelineSend);
  }

  sendIdsOf(
    account: string,
    contactId: string,
    messageIds: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    return this.history.sendIdsOf(account, contactId, messageIds);
  }

  async byIds(account: string, ids: readonly string[]): Promise<TimelineSend<Send>[]> {
    return (await this.history.byIds(account, ids)).map(toTimelineSend);
  }
}

function toTimelineSend({ send, createdAt, sendAt, boundAt }: SendWithTimes): TimelineSend<Send> {
  const { id, status, reference, phoneNumber, contactId, messageId } = send;
  return {
    ...{ id, status, reference, phoneNumber, createdAt, shown: send },
    ...(sendAt === undefined ? {} : { sendAt }),
    ...(boundAt === undefined ? {} : { boundAt }),
    ...(contactId === null || messageId === null ? {} : { message: { contactId, messageId } }),
  };
}
