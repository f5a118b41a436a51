import { useLocation } from 'preact-iso';

/** Path of the console on the gateway. */
export const BASE = '/console';

/** Returns the address of a page of the console, for example `to('sends', id)`. */
export function to(...parts: string[]): string {
  return [BASE, ...parts.map(encodeURIComponent)].join('/');
}

/** Returns an address with parameters. Empty parameters are left out. */
export function withParameters(
  address: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value]],
  );
  return given.length === 0 ? address : `${address}?${new URLSearchParams(given).toString()}`;
}

/**
 * The parameters of the page's address, and a function that changes some of them. The address contains what a page
 * shows, so that a link or a reload shows the same.
 */
export function useParameters(): [
  Readonly<Record<string, string | undefined>>,
  (change: Readonly<Record<string, string | undefined>>) => void,
] {
  const { query, path, route } = useLocation();
  return [
    query,
    (change) => {
      route(withParameters(path, { ...query, ...change }), true);
    },
  ];
}
