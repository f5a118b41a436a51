import type { SendStatus } from './send.js';

/** True if a send of this status may still need its file: for its POST, or for a resend. */
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

export function needsFile(status: SendStatus): boolean {
  return NEEDS_FILE[status];
}
