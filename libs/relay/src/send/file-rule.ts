import type { SendStatus } from './send.js';

/** For each status: true if a send may still need its uploaded file, for its POST or for a resend. */
const NEEDS_FILE: Readonly<Record<SendStatus, boolean>> = {
  scheduled: true,
  queued: true,
  relaying: true,
  unknown: true,
  failed: true,
  accepted: false,
  sent: false,
  delivered: false,
  read: false,
  cancelled: false,
  expired: false,
};

/** Returns true if a send with this status may still need its uploaded file. */
export function mayStillNeedFile(status: SendStatus): boolean {
  return NEEDS_FILE[status];
}
