import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '#accounts';
import type { Send, SendFilter, SendService, SendList, SendPage } from '#relay';
import { ContactAccess } from '../auth/contact-access.js';
import { SEND_SERVICE, SEND_LIST } from '../tokens.js';

/** Reads the sends that a caller may see. */
@Injectable()
export class VisibleSends {
  constructor(
    @Inject(SEND_SERVICE) private readonly sends: SendService,
    @Inject(SEND_LIST) private readonly sendList: SendList,
    @Inject(ContactAccess) private readonly access: ContactAccess,
  ) {}

  /** Returns a send, or undefined if there is none that the caller may see. */
  async find(caller: Principal, id: string): Promise<Send | undefined> {
    const send = await this.sends.find(caller.account, id);
    return send !== undefined && (await this.access.maySeeSend(caller, send))
      ? withVisibleLookups(caller, send)
      : undefined;
  }

  /**
   * Returns a page of the sends that match a filter and that the caller may see. The page may be short, because the cost
   * of a call is bounded. It is empty if the filter has a phone number to which the caller may not send.
   */
  async list(caller: Principal, filter: SendFilter, limit: number, before?: number): Promise<SendPage> {
    const { phoneNumber } = filter;
    // Cursors would show whether others have sent very often to this number.
    if (phoneNumber !== undefined && !(await this.access.maySeeNumber(caller, phoneNumber)))
      return { sends: [] };
    const seesAll = caller.contactIds === undefined;
    const accepts = (send: Send): Promise<boolean> => this.access.maySeeSend(caller, send);
    const visible = seesAll ? filter : { ...filter, accepts };
    const page = await this.sendList.list(caller.account, visible, limit, before);
    return { ...page, sends: page.sends.map((send) => withVisibleLookups(caller, send)) };
  }
}

/** Returns a send whose look-ups name only the contacts that the caller may see. */
export function withVisibleLookups({ contactIds }: Principal, send: Send): Send {
  if (contactIds === undefined || send.lookups === undefined) return send;
  const isVisible = (contactId: string): boolean => contactIds.has(contactId);
  const lookups = send.lookups.map((lookup) => ({
    ...lookup,
    contactIds: lookup.contactIds.filter(isVisible),
    candidates: lookup.candidates.filter(({ contactId }) => isVisible(contactId)),
  }));
  return { ...send, lookups };
}
