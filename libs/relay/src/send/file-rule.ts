import type { SendStatus } from './send.js';

/** Whether a send of this status may still need its file: to be relayed, or to be sent again when it is told to. */
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
