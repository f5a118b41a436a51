import { expect, it } from '@jest/globals';
import { fakeMessage } from './fixtures/fake-account.js';
import { readSortedMessageList } from './ordered-walk.js';
import type { TimelineMessage } from './ports.js';

const PAGE_SIZE = 10;

it('the read of a sorted message list misses no message if a deletion during the read moves a message to a page that was already read', async () => {
  const list = Array.from({ length: 28 }, (_, i) => fakeMessage(`m${i}`, 1_000_000 - i * 1_000));
  const left = new Set(list.map(({ id }) => id));
  // Upstream ignores the limit.
  const read = (page: number): Promise<{ items: TimelineMessage[]; count: number }> => {
    if (page === 3 && list.length === 28) left.delete(list.splice(5, 1)[0]?.id ?? '');
    const items = list.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
    return Promise.resolve({ items, count: items.length });
  };
  // Deletions that the feed has not noticed yet made the list shorter than 40 messages.
  const shape = { order: 'newestFirst' as const, length: 40, fullPage: PAGE_SIZE, maxLimit: PAGE_SIZE };
  const { messages, edge } = await readSortedMessageList(read, shape, { fixedSize: PAGE_SIZE }, 60, 10);
  expect(edge).toBeUndefined();
  const shown = messages.map(({ message }) => message.id);
  expect([...left].filter((id) => !shown.includes(id))).toEqual([]);
});
