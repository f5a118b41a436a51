import { describe, expect, it } from '@jest/globals';
import { pageRequestFrom, pageRequestUpTo } from './page-request.js';

describe('A requested page', () => {
  it('has the smallest limit with which it contains the wanted elements before or after the given index', () => {
    expect(pageRequestFrom(0, 22, 100)).toEqual({ page: 1, limit: 22 });
    expect(pageRequestFrom(20, 22, 100)).toEqual({ page: 1, limit: 42 });
    expect(pageRequestFrom(198, 22, 100)).toEqual({ page: 10, limit: 22 });
    expect(pageRequestUpTo(198, 22, 100)).toEqual({ page: 8, limit: 25 });
  });

  it('contains as many of the wanted elements as possible if a page with the maximum limit cannot contain all', () => {
    expect(pageRequestFrom(17, 22, 20)).toEqual({ page: 2, limit: 17 });
    expect(pageRequestUpTo(17, 22, 20)).toEqual({ page: 1, limit: 18 });
  });

  it('always contains the element with the given index', () => {
    for (let index = 0; index < 500; index += 1) {
      for (const maxLimit of [1, 7, 20, 100]) {
        for (const { page, limit } of [
          pageRequestFrom(index, 30, maxLimit),
          pageRequestUpTo(index, 30, maxLimit),
        ]) {
          expect(limit).toBeLessThanOrEqual(maxLimit);
          expect((page - 1) * limit).toBeLessThanOrEqual(index);
          expect(page * limit).toBeGreaterThan(index);
        }
      }
    }
  });
});
