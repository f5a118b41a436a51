import type { LaneHead } from '../send/relay-store.js';
import type { SendRecord } from '../send/send-record.js';

/** Time within which every gateway and worker learns a changed upstream address, in milliseconds. */
const ADDRESS_PROPAGATION_MS = 60_000;

/**
 * Whether a send may be posted to the account's current upstream address. A send is meant for the messaging service to
 * which the account's address led when the send was stored or last resent:
 * - `same_service`: the current address leads to that service, so the send may be posted;
 * - `other_service`: the current address leads to another service, so the send must not be posted;
 * - `unverified`: no contact list was read from the current address yet, so it is not known where the address leads;
 * - a number: the send was stored for a different address, and the service behind that address is not known. That
 *   address may be a new one that this process has not learned yet. The number is the remaining wait in milliseconds.
 */
export type Destination = 'same_service' | 'other_service' | 'unverified' | number;

/**
 * Decides whether a send may be posted to the account's current upstream address.
 * @param address hash of the current address; undefined if the address is not known
 */
export function destinationOfSend(
  { record, now, services }: Pick<LaneHead, 'record' | 'now' | 'services'>,
  address: string | undefined,
): Destination {
  if (address === undefined) return 'same_service';
  const presentService = services.get(address);
  if (presentService === undefined) return 'unverified';
  const accepted = intendedUpstreamAddressHash(record, address);
  if (accepted === undefined || accepted === address) return 'same_service';
  const intendedService = services.get(accepted);
  if (intendedService !== undefined)
    return intendedService === presentService ? 'same_service' : 'other_service';
  const { order, state } = record;
  const leftMs = (state.resentAt ?? order.createdAt) + ADDRESS_PROPAGATION_MS - now;
  return leftMs > 0 ? leftMs : 'same_service';
}

/**
 * Returns a hash of the upstream address that the account had when the send was stored or last resent.
 * @param unknown value to return if the send has no address, because an older version of the software stored the send
 */
export function intendedUpstreamAddressHash(
  { order, state }: SendRecord,
  unknown: string | undefined,
): string | undefined {
  return state.resentTo ?? order.upstream ?? unknown;
}

/**
 * Returns the `reason` text of a send that must not be posted, because the account's address now leads to another
 * service.
 * @param wasPosted true if the former service may have accepted a POST of the send
 */
export function describeServiceChange(wasPosted: boolean): string {
  const cause = "The account's upstream address now leads to another service than when this send was stored";
  const effect = wasPosted ? 'the outcome at the former service is unknown' : 'the send was not posted';
  return `${cause}, so ${effect}. Resolve the send: resend posts it to the present service, failed ends it.`;
}
