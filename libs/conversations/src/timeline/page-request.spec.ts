import { describe, expect, it } from '@jest/globals';
import { pageFrom, pageUpTo } from './page-request.js';

describe('A page request', () => {
  it('has the smallest limit whose page contains the wanted number of elements from the given index on', () => {
    expect(pageFrom(0, 22, 100)).toEqual({ page: 1, limit: 22 });
    expect(pageFrom(20, 22, 100)).toEqual({ page: 1, limit: 42 });
    expect(pageFrom(198, 22, 100)).toEqual({ page: 10, limit: 22 });
    expect(pageUpTo(198, 22, 100)).toEqual({ page: 8, limit: 25 });
  });

  it('reaches as far as possible from the given index if no allowed limit is large enough', () => {
    expect(pageFrom(17, 22, 20)).toEqual({ page: 2, limit: 17 });
    expect(pageUpTo(17, 22, 20)).toEqual({ page: 1, limit: 18 });
  });

  it('always contains the element with the given index', () => {
    for (let index = 0; index < 500; index += 1) {
      for (const maxLimit of [1, 7, 20, 100]) {
        for (const { page, limit } of [pageFrom(index, 30, maxLimit), pageUpTo(index, 30, maxLimit)]) {
          expect(limit).toBeLessThanOrEqual(maxLimit);
          expect((page - 1) * limit).toBeLessThanOrEqual(index);
          expect(page * limit).toBeGreaterThan(index);
        }
      }
    }
  });
});
