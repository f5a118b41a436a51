/** Returns a value that is made by the first call. */
export interface Once<T> {
  (): Promise<T>;
  /** Resolves to the value, or to undefined if the value has not been made. Never makes the value. */
  current(): Promise<T | undefined>;
}

/** Returns a function that makes a value at its first call, and again after a failure. */
export function once<T>(make: () => Promise<T>): Once<T> {
  let made: Promise<T> | undefined;
  const get = (): Promise<T> => {
    if (made !== undefined) return made;
    const making = make();
    made = making;
    making.catch(() => {
      made = undefined;
    });
    return making;
  };
  return Object.assign(get, { current: async () => await made?.catch(() => undefined) });
}
