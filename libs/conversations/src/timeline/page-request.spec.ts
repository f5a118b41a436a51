import { describe, expect, it } from '@jest/globals';
import { pageRequestFromIndex, pageRequestUpToIndex } from './page-request.js';

describe('A requested page', () => {
  it('has the smallest page limit at which one page contains all wanted elements', () => {
    expect(pageRequestFromIndex(0, 22, 100)).toEqual({ page: 1, limit: 22 });
    expect(pageRequestFromIndex(20, 22, 100)).toEqual({ page: 1, limit: 42 });
    expect(pageRequestFromIndex(198, 22, 100)).toEqual({ page: 10, limit: 22 });
    expect(pageRequestUpToIndex(198, 22, 100)).toEqual({ page: 8, limit: 25 });
  });

  it('contains as many of the wanted elements as possible if no single page can contain all of them', () => {
    expect(pageRequestFromIndex(17, 22, 20)).toEqual({ page: 2, limit: 17 });
    expect(pageRequestUpToIndex(17, 22, 20)).toEqual({ page: 1, limit: 18 });
  });

  it('always contains the element with the given index', () => {
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
