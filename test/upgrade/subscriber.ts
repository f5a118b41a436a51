import { eventually } from '../support/eventually.js';
import { type ReceivedEvent, WebhookReceiver } from '../support/webhook-receiver.js';
import { messageIdOf } from './events.js';
import type { Upgraded } from './upgraded.js';

export interface Delivery {
  id: string;
  eventId: string;
  status: string;
  attempts: object[];
}

/** A webhook of the snapshot, with a receiver at a new URL. The receiver has only the secret of the old build. */
export class Subscriber implements AsyncDisposable {
  private constructor(
    private readonly upgraded: Upgraded,
    readonly path: string,
    private readonly account: string,
    readonly receiver: WebhookReceiver,
  ) {}

  static async start(upgraded: Upgraded, name: string, account: string): Promise<Subscriber> {
    const path = `/v1/webhooks/${upgraded.snapshot.names.webhooks[name] ?? ''}`;
    const receiver = await WebhookReceiver.start(upgraded.api);
    const subscriber = new Subscriber(upgraded, path, account, receiver);
    receiver.secret = subscriber.secretBefore();
    await upgraded.json('PATCH', path, { url: receiver.url }, account);
    return subscriber;
  }

  /** Returns the webhook as the old build showed it last. */
  before(): { updatedAt: string } {
    return this.only(this.upgraded.answersTo(new RegExp(`^${this.path}$`), this.account));
  }

  /** Returns the deliveries that were pending in the old build. */
  pendingBefore(): Delivery[] {
    const lists = new RegExp(`^${this.path}/deliveries`);
    const pages = this.upgraded.answersTo<{ deliveries: Delivery[] }>(lists, this.account);
    return pages.flatMap(({ deliveries }) => deliveries).filter(({ status }) => status === 'pending');
  }

  async succeeded(id: string): Promise<Delivery> {
    return await eventually(`the delivery ${id} succeeded`, async () => {
      const path = `/v1/deliveries/${id}`;
      const delivery = await this.upgraded.json<Delivery>('GET', path, undefined, this.account);
      return delivery.status === 'succeeded' && delivery;
    });
  }

  async receives(eventId: string): Promise<void> {
    await eventually(`${eventId} arrives`, () => this.receiver.events.some(({ id }) => id === eventId));
  }

  /** Creates a message of a contact at upstream, and waits until the receiver gets its event. */
  async receivesMessageOf(contact: string): Promise<void> {
    const contactId = this.upgraded.snapshot.names.contacts[contact];
    const { ids } = await this.upgraded.simulate<{ ids: string[] }>(this.account, 'messages', { contactId });
    await eventually('the event arrives', () => {
      const received = this.receiver.eventsOfType('message.received');
      return received.some((event: ReceivedEvent) => messageIdOf(event) === ids[0]);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.receiver[Symbol.asyncDispose]();
  }

  private secretBefore(): string {
    const answers = this.upgraded.answersTo<{ secret: string }>(
      new RegExp(`^${this.path}/secret$`),
      this.account,
    );
    return this.only(answers).secret;
  }

  private only<T>([answer]: readonly T[]): T {
    if (answer === undefined) throw new Error(`the old build answered nothing of ${this.path}`);
    return answer;
  }
}
