/** A request for one page of a list: the number of the page, counted from 1, and its size. */
export interface PageRequest {
  page: number;
  limit: number;
}

/**
 * Returns the page with the smallest limit that contains `wanted` elements from index `from` on, towards
 * higher indexes. If no page with a limit up to `maxLimit` contains all of them, returns the page that
 * contains the most. Pages with different limits begin at different elements, so pages can overlap.
 */
export function pageRequestFromIndex(from: number, wanted: number, maxLimit: number): PageRequest {
  return bestPage(from, wanted, maxLimit, ({ page, limit }) => page * limit - from);
}

/**
 * Returns the page with the smallest limit that contains `wanted` elements from index `to` on, towards index 0. If no
 * page with a limit up to `maxLimit` contains all of them, returns the page that contains the most.
 */
export function pageRequestUpToIndex(to: number, wanted: number, maxLimit: number): PageRequest {
  return bestPage(to, Math.min(wanted, to + 1), maxLimit, ({ page, limit }) => to + 1 - (page - 1) * limit);
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
