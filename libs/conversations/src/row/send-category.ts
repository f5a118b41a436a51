/** How a conversation row counts a send: as pending (`p`), as failed (`f`), or not at all (empty). */
export type SendCategory = 'p' | 'f' | '';

/**
 * Returns how a conversation row counts a send with this status. An expired send and a send with an unknown outcome
 * count as failed, because somebody must look at them.
 */
export function rowCategoryOfStatus(status: string): SendCategory {
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
