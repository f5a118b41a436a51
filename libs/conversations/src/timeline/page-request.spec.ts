import { describe, expect, it } from '@jest/globals';
import { pageRequestFromIndex, pageRequestUpToIndex } from './page-request.js';

describe('A page request for a range of list elements', () => {
  it('has the smallest page limit at which one page contains the whole range', () => {
    expect(pageRequestFromIndex(0, 22, 100)).toEqual({ page: 1, limit: 22 });
    expect(pageRequestFromIndex(20, 22, 100)).toEqual({ page: 1, limit: 42 });
    expect(pageRequestFromIndex(198, 22, 100)).toEqual({ page: 10, limit: 22 });
    expect(pageRequestUpToIndex(198, 22, 100)).toEqual({ page: 8, limit: 25 });
  });

  it('covers as many elements of the range as possible if no page can contain the whole range', () => {
    expect(pageRequestFromIndex(17, 22, 20)).toEqual({ page: 2, limit: 17 });
    expect(pageRequestUpToIndex(17, 22, 20)).toEqual({ page: 1, limit: 18 });
  });

  it('always covers the element at the start index (pageRequestFromIndex) or end index (pageRequestUpToIndex) of the range', () => {
    for (let index = 0; index < 500; index += 1) {
      for (const maxLimit of [1, 7, 20, 100]) {
        for (const { page, limit } of [
          pageRequestFromIndex(index, 30, maxLimit),
          pageRequestUpToIndex(index, 30, maxLimit),
        ]) {
          expect(limit).toBeLessThanOrEqual(maxLimit);
          expect((page - 1) * limit).toBeLessThanOrEqual(index);
          expect(page * limit).toBeGreaterThan(index);
        }
      }
    }
  });
});
