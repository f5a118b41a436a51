import type { LaneHead } from '../send/relay-store.js';
import type { SendRecord } from '../send/send-record.js';

/** Time within which every gateway and worker learns a new address, in milliseconds. */
const ADDRESS_PROPAGATION_MS = 60_000;

/**
 * Whether a send may be posted to the account's present upstream address:
 * - `same_service`: the address leads to the service that the send was accepted for;
 * - `other_service`: the address leads to another service;
 * - `unverified`: no contact list was read from the address yet, so its service is not known;
 * - a number: the send was accepted for an address that is not verified, and some processes may not know that address
 *   yet. The number is the remaining wait in milliseconds.
 */
export type Destination = 'same_service' | 'other_service' | 'unverified' | number;

/**
 * Decides whether a send may be posted to the account's present upstream address.
 * @param address stamp of the present address; undefined if the address is not known
 */
export function destinationOf(
  { record, now, services }: Pick<LaneHead, 'record' | 'now' | 'services'>,
  address: string | undefined,
): Destination {
  if (address === undefined) return 'same_service';
  const presentService = services.get(address);
  if (presentService === undefined) return 'unverified';
  const accepted = intendedAddress(record, address);
  if (accepted === undefined || accepted === address) return 'same_service';
  const intendedService = services.get(accepted);
  if (intendedService !== undefined)
    return intendedService === presentService ? 'same_service' : 'other_service';
  const { order, state } = record;
  const leftMs = (state.resentAt ?? order.createdAt) + ADDRESS_PROPAGATION_MS - now;
  return leftMs > 0 ? leftMs : 'same_service';
}

/**
 * Returns the stamp of the address that a send was accepted for, or last resent to.
 * @param unknown result for a send of an older build, which stored no address
 */
export function intendedAddress(
  { order, state }: SendRecord,
  unknown: string | undefined,
): string | undefined {
  return state.resentTo ?? order.upstream ?? unknown;
}

/**
 * Returns the reason of a send that was accepted for another service.
 * @param wasPosted true if the former service may have accepted a POST of the send
 */
export function otherServiceReason(wasPosted: boolean): string {
  const cause = "The account's upstream address leads to another service than when this send was accepted";
  const effect = wasPosted ? 'the outcome at the former service is unknown' : 'the send was not posted';
  return `${cause}, so ${effect}. Resolve the send: resend posts it to the present service, failed ends it.`;
}
