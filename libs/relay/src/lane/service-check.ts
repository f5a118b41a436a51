import type { LaneHead } from '../send/lane-store.js';
import type { SendRecord } from '../send/send-record.js';

/** Time within which every gateway and worker learns a changed upstream address, in milliseconds. */
const ADDRESS_PROPAGATION_MS = 60_000;

/**
 * Whether a send may be posted to the account's current upstream address. The service behind this address must be the
 * one for which the send was stored or last resent.
 * - `same_service`: the send may be posted. Also the result if the current address, or the address for which the send
 *   was stored, is not known;
 * - `other_service`: the send must not be posted;
 * - `unverified`: the service behind the current address is not known. Before the POST, the caller must try to read
 *   the contact list, because its contacts identify the service;
 * - a number: the send must wait for this time, in milliseconds. The send was stored for another address, whose
 *   service is not known. This can mean that the account's address was just changed, and that this process does not
 *   know the new address yet. The process learns the new address within this time. If the service is still not known
 *   afterwards, the send may be posted.
 */
export type ServiceCheckResult = 'same_service' | 'other_service' | 'unverified' | number;

/**
 * Decides whether a send may be posted to the account's current upstream address. The account's address may have
 * changed since the send was stored.
 * @param address hash of the current address; undefined if the address is not known
 */
export function checkServiceBeforePost(
  { record, now, services }: Pick<LaneHead, 'record' | 'now' | 'services'>,
  address: string | undefined,
): ServiceCheckResult {
  if (address === undefined) return 'same_service';
  const presentService = services.get(address);
  if (presentService === undefined) return 'unverified';
  const intendedAddress = upstreamAddressHashStoredWithSend(record, address);
  if (intendedAddress === undefined || intendedAddress === address) return 'same_service';
  const intendedService = services.get(intendedAddress);
  if (intendedService !== undefined)
    return intendedService === presentService ? 'same_service' : 'other_service';
  const { order, state } = record;
  const leftMs = (state.resentAt ?? order.createdAt) + ADDRESS_PROPAGATION_MS - now;
  return leftMs > 0 ? leftMs : 'same_service';
}

/**
 * Returns a hash of the upstream address that the account had when the send was stored or last resent.
 * @param fallback value to return if no address was stored with the send, for example because an older build stored
 * the send
 */
export function upstreamAddressHashStoredWithSend(
  { order, state }: SendRecord,
  fallback: string | undefined,
): string | undefined {
  return state.resentTo ?? order.upstream ?? fallback;
}

/**
 * Returns the `reason` text of a send that must not be posted, because the service behind the account's address is
 * not the one for which the send was stored.
 * @param mayBeAccepted true if the former service may have accepted a POST of the send
 */
export function reasonOfSendToFormerService(mayBeAccepted: boolean): string {
  const cause = "The account's upstream address now leads to another service than when this send was stored";
  const effect = mayBeAccepted ? 'the outcome at the former service is unknown' : 'the send was not posted';
  return `${cause}, so ${effect}. To post the send to the present service, resolve it as resend. To end the send, resolve it as failed.`;
}
