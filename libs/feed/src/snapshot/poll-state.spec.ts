import { describe, expect, it } from '@jest/globals';
import { FAILING_MESSAGE_PLACEHOLDER } from '../walk/read-in-parts.js';
import { addUnreadableElementHashes, hasPermanentlyUnreadableMessage } from './poll-state.js';

describe('a contact with more unreadable elements than the maximum number of stored hashes', () => {
  const elements = Array.from({ length: 25 }, (_, n) => `element ${n}`);
  const { hashes: unreadable, added } = addUnreadableElementHashes(undefined, elements);

  it('counts only the elements whose hashes are stored', () => {
    expect(added).toBe(20);
    expect(addUnreadableElementHashes(unreadable, ['another element']).added).toBe(0);
  });

  it('counts a message that upstream fails to return although the maximum is reached, and only from then on as permanently unreadable', () => {
    expect(hasPermanentlyUnreadableMessage({ unreadable })).toBe(false);
    const { hashes, added: found } = addUnreadableElementHashes(unreadable, [FAILING_MESSAGE_PLACEHOLDER]);
    expect(found).toBe(1);
    expect(hasPermanentlyUnreadableMessage({ unreadable: hashes })).toBe(true);
    expect(addUnreadableElementHashes(hashes, [FAILING_MESSAGE_PLACEHOLDER]).added).toBe(0);
  });
});
