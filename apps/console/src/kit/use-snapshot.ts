import { useEffect, useState } from 'preact/hooks';

/** An object that says when its state changed. */
interface Source<State> {
  readonly snapshot: State;
  /** Calls the listener after each change, until the returned function is called. */
  subscribe: (listener: () => void) => () => void;
}

/** Returns the state of the source, and renders again after each change of it. */
export function useSnapshot<State>(source: Source<State>): State {
  const [, setShown] = useState(source.snapshot);
  useEffect(() => {
    const show = (): void => {
      setShown(source.snapshot);
    };
    const stop = source.subscribe(show);
    // Effects run after the page is painted: the state may have changed since.
    show();
    return stop;
  }, [source]);
  return source.snapshot;
}
