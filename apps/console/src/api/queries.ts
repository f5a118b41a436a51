import {
  QueryClient,
  type QueryFilters,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
  type InfiniteData,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from '@tanstack/preact-query';
import { useEffect } from 'preact/hooks';
import { type Api, useApi } from './api.js';
import type { LiveListener } from './live-events.js';

/** Parameters of a read. Empty parameters are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** A page of a list of the API. */
export interface ListPage {
  next: string | null;
}

interface ReadOptions {
  /** Interval at which the read is repeated while its result is shown, in milliseconds. */
  everyMs?: number | undefined;
  /** False if nothing is to be read now. */
  isEnabled?: boolean | undefined;
}

/** Time during which a result is shown again without another read, in milliseconds. */
const FRESH_MS = 2_000;

/** Creates the cache of results. The client library retries, so the cache does not. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry: false, staleTime: FRESH_MS, gcTime: 60_000, networkMode: 'always' },
      mutations: { retry: false, networkMode: 'always' },
    },
  });
}

/** Reads an object, and keeps it for other parts of the page that read the same object. */
export function useRead<T>(path: string, query: Query = {}, options: ReadOptions = {}): UseQueryResult<T> {
  const api = useApi();
  return useQuery<T>({
    queryKey: keyOf(api, path, query),
    queryFn: ({ signal }) => api.get<T>(path, query, signal),
    enabled: options.isEnabled ?? true,
    ...(options.everyMs === undefined ? {} : { refetchInterval: options.everyMs }),
  });
}

/** Reads a list page by page: `fetchNextPage` reads the next page. */
export function usePages<Page extends ListPage>(
  path: string,
  query: Query = {},
  options: ReadOptions = {},
): UseInfiniteQueryResult<InfiniteData<Page>> {
  const api = useApi();
  return useInfiniteQuery({
    queryKey: keyOf(api, path, query, 'pages'),
    queryFn: ({ signal, pageParam }) => api.get<Page>(path, { ...query, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page) => page.next ?? undefined,
    enabled: options.isEnabled ?? true,
    ...(options.everyMs === undefined ? {} : { refetchInterval: options.everyMs }),
  });
}

/** Returns a function that reads again the shown data of the given paths, and of the paths below them. */
export function useRefresh(): (...paths: string[]) => Promise<void> {
  const client = useQueryClient();
  const api = useApi();
  return (...paths) => refresh(client, api.signIn.id, paths);
}

/** Reads again, for one sign-in, the shown data of the given paths and of the paths below them. */
export async function refresh(
  client: QueryClient,
  signInId: string,
  paths: readonly string[],
): Promise<void> {
  const filter: QueryFilters = {
    predicate: ({ queryKey: [keyId, path] }) =>
      keyId === signInId &&
      paths.some((each) => path === each || (typeof path === 'string' && path.startsWith(`${each}/`))),
  };
  // A refresh would cancel a running read of a further page. The click on “Show more” would then have no effect.
  const furtherPages = client
    .getQueryCache()
    .findAll(filter)
    .filter(({ state }) => state.fetchMeta?.fetchMore !== undefined);
  await Promise.allSettled(furtherPages.map(async ({ promise }) => promise));
  await client.invalidateQueries(filter);
}

/**
 * Passes live events to the listener while the component is shown. `deps` has the same meaning as in `useEffect`.
 */
export function useLive(listener: LiveListener, deps: readonly unknown[] = []): void {
  const api = useApi();
  useEffect(() => api.live.listen(listener), [api, ...deps]);
}

/**
 * Returns the key of a result in the cache. It begins with the sign-in, so that no data of another account is shown.
 */
export function keyOf(api: Api, path: string, query: Query = {}, kind: 'one' | 'pages' = 'one'): unknown[] {
  return [api.signIn.id, path, kind, query];
}
