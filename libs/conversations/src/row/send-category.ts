/** How a row counts a send: as pending (`p`), as failed (`f`), or not at all (empty). */
export type SendCategory = 'p' | 'f' | '';

/**
 * Returns how a row counts a send with this status. A pending send waits for its `sendAt`, for its relay or for its
 * message. Sends that failed, expired, or whose outcome is unknown count as failed, because somebody must look at them.
 */
export function categoryOfSend(status: string): SendCategory {
  switch (status) {
    case 'scheduled':
    case 'queued':
    case 'relaying':
    case 'accepted':
      return 'p';
    case 'unknown':
    case 'failed':
    case 'expired':
      return 'f';
    default:
      return '';
  }
}
