import type { SendStatusNotice } from '#conversations';
import type { NewSendOrder } from '../send/relay-store.js';
import type { SendState } from '../send/send-record.js';

/** Returns the status of a send as the JSON text that the Lua scripts publish for event streams. */
export function serializeSendStatusNotice({
  order,
  state,
}: {
  order: NewSendOrder;
  state: Omit<SendState, 'updatedAt'>;
}): string {
  const notice: SendStatusNotice = {
    id: order.id,
    status: state.status,
    reference: order.reference ?? null,
    revision: state.revision,
    phoneNumber: order.phoneNumber,
    contactId: state.contactId ?? null,
  };
  return JSON.stringify(notice);
}
