import type { ListedContact } from './feed-store.js';

/** The packed form: the fingerprint, then `!` if it is deleted, then the time since which it is missing in base 36. */
const PACKED = /^([0-9a-f]{16})(!?)([0-9a-z]*)$/;

export function packListedContact({ fingerprint, deleted, missingSince }: ListedContact): string {
  return `${fingerprint}${deleted ? '!' : ''}${missingSince === undefined ? '' : Math.floor(missingSince).toString(36)}`;
}

/** A text that cannot be read is that of a contact whose fields are all news. */
export function unpackListedContact(packed: string): ListedContact {
  const [, fingerprint = '', deleted, missing = ''] = PACKED.exec(packed) ?? [];
  return {
    fingerprint,
    deleted: deleted === '!',
    ...(missing === '' ? {} : { missingSince: parseInt(missing, 36) }),
  };
}
