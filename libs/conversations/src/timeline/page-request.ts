/** A request for one page of a list: the number of the page, counted from 1, and its size. */
export interface PageRequest {
  page: number;
  limit: number;
}

/**
 * Returns the page with the smallest limit that contains `count` elements: the element at index `first` and those at
 * the next higher indexes. If no page with a limit up to `maxLimit` contains all of them, returns the page that
 * contains the most. Pages with different limits begin at different elements, so pages can overlap.
 */
export function pageRequestFromIndex(first: number, count: number, maxLimit: number): PageRequest {
  return bestPage(first, count, maxLimit, ({ page, limit }) => page * limit - first);
}

/**
 * Returns the page with the smallest limit that contains `count` elements: the element at index `last` and those at
 * the next lower indexes. If no page with a limit up to `maxLimit` contains all of them, returns the page that
 * contains the most.
 */
export function pageRequestUpToIndex(last: number, count: number, maxLimit: number): PageRequest {
  return bestPage(
    last,
    Math.min(count, last + 1),
    maxLimit,
    ({ page, limit }) => last + 1 - (page - 1) * limit,
  );
}

function bestPage(
  index: number,
  wanted: number,
  maxLimit: number,
  reachOf: (request: PageRequest) => number,
): PageRequest {
  let best: PageRequest = { page: Math.floor(index / maxLimit) + 1, limit: maxLimit };
  for (let limit = 1; limit <= maxLimit; limit += 1) {
    const request = { page: Math.floor(index / limit) + 1, limit };
    if (reachOf(request) >= wanted) return request;
    if (reachOf(request) > reachOf(best)) best = request;
  }
  return best;
}
