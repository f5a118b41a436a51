import type { LaneHead } from '../send/relay-store.js';
import type { SendRecord } from '../send/send-record.js';

/** Gateways and workers learn a new address one after the other, within so long. In milliseconds. */
const ADDRESS_PROPAGATION_MS = 60_000;

/**
 * Whether a send may go to the service that its account's address leads to:
 * - `here`: it was accepted for this service;
 * - `elsewhere`: it was accepted for another one;
 * - `unproven`: no contact list was read from this address yet, so that it may lead anywhere;
 * - a number: it was accepted for an address that no list was read from, which others may be about to learn; so many
 *   milliseconds are left to them.
 */
export type Destination = 'here' | 'elsewhere' | 'unproven' | number;

/**
 * @param address stamp of the address that the account's requests go to now; undefined where nothing is known of it
 */
export function destinationOf(
  { record, now, services }: Pick<LaneHead, 'record' | 'now' | 'services'>,
  address: string | undefined,
): Destination {
  if (address === undefined) return 'here';
  const here = services.get(address);
  if (here === undefined) return 'unproven';
  const accepted = intendedAddress(record, address);
  if (accepted === undefined || accepted === address) return 'here';
  const there = services.get(accepted);
  if (there !== undefined) return there === here ? 'here' : 'elsewhere';
  const { order, state } = record;
  const leftMs = (state.resentAt ?? order.createdAt) + ADDRESS_PROPAGATION_MS - now;
  return leftMs > 0 ? leftMs : 'here';
}

/**
 * The stamp of the address that a send was accepted for, or last told to go out to.
 * @param unknown where an earlier build wrote none
 */
export function intendedAddress(
  { order, state }: SendRecord,
  unknown: string | undefined,
): string | undefined {
  return state.resentTo ?? order.upstream ?? unknown;
}

/** Why it is held. @param wasPosted whether its POST may have been taken by the former service */
export function otherServiceReason(wasPosted: boolean): string {
  const what = "The account's upstream address leads to another service than when this send was accepted";
  const so = wasPosted ? 'what became of it there is not known' : 'it was not sent';
  return `${what}, so ${so}. Resolve it: resend sends it to the present service, failed ends it.`;
}
