import { eventually } from '../support/eventually.js';
import type { Upgraded } from './upgraded.js';

export interface Send {
  id: string;
  status: string;
  phoneNumber: string;
  messageId: string | null;
  attempts: object[];
}

/** A send that upstream accepted. */
export interface Post {
  message: string;
  parts: { name: string; sha256?: string }[];
}

/** The sends of an account of the snapshot. Each has a name in the snapshot. */
export class Sends {
  constructor(
    private readonly upgraded: Upgraded,
    private readonly account = 'default',
  ) {}

  /** Returns a send as the old build showed it last. */
  before(name: string): Send {
    const [send] = this.upgraded.answersTo<Send>(new RegExp(`^/v1/sends/${this.idOf(name)}$`), this.account);
    if (send === undefined) throw new Error(`no send "${name}"`);
    return send;
  }

  now(name: string): Promise<Send> {
    return this.upgraded.json('GET', `/v1/sends/${this.idOf(name)}`, undefined, this.account);
  }

  async becomes(name: string, ...statuses: string[]): Promise<Send> {
    return await eventually(`"${name}" is ${statuses.join(' or ')}`, async () => {
      const send = await this.now(name);
      return statuses.includes(send.status) && send;
    });
  }

  /** Returns all sends that the account's upstream accepted, before and after the upgrade, in order of acceptance. */
  async posts(): Promise<Post[]> {
    const wanted = { kind: 'send.accepted' };
    return (await this.upgraded.simulate<{ entries: Post[] }>(this.account, 'ledger', wanted)).entries;
  }

  async postsOf(name: string): Promise<Post[]> {
    return (await this.posts()).filter(({ message }) => message === name);
  }

  private idOf(name: string): string {
    return this.upgraded.snapshot.names.sends[name] ?? '';
  }
}
