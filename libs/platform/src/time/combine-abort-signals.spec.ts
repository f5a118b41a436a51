import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { combineAbortSignals } from './combine-abort-signals.js';

describe('a combination of AbortSignals', () => {
  it.each([0, 1])('aborts as soon as one of the signals aborts (signal %i)', (which) => {
    const sources = [new AbortController(), new AbortController()];
    const { signal } = combineAbortSignals(...sources.map((source) => source.signal), undefined);
    expect(signal.aborted).toBe(false);
    sources[which]?.abort();
    expect(signal.aborted).toBe(true);
  });

  it('is aborted from the start if one of the signals is already aborted', () => {
    expect(combineAbortSignals(new AbortController().signal, AbortSignal.abort()).signal.aborted).toBe(true);
  });

  it.each(['release', 'abort'])('removes its listener from a longer-lived signal (after: %s)', (end) => {
    const [long, short] = [new AbortController().signal, new AbortController()];
    const { release } = combineAbortSignals(long, short.signal);
    expect(getEventListeners(long, 'abort')).toHaveLength(1);
    if (end === 'release') release();
    else short.abort();
    expect(getEventListeners(long, 'abort')).toHaveLength(0);
  });
});
