import { describe, expect, it } from '@jest/globals';
import { NextRun } from './next-run.js';

/** Runs that end when they are told to, in the order of their beginning. */
function controlled(): { runs: NextRun; begun: string[]; end: (error?: Error) => Promise<void> } {
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const runs = new NextRun((name) => {
    begun.push(name);
    return new Promise<void>((resolve, reject) => {
      ends.push((error) => {
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  });
  const end = async (error?: Error): Promise<void> => {
    ends.shift()?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { runs, begun, end };
}

describe('the next run of a task', () => {
  it('begins at once where none is under way', async () => {
    const { runs, begun, end } = controlled();
    const run = runs.run('a');
    expect(begun).toEqual(['a']);
    await end();
    await run;
  });

  it('is one for all who ask while another is under way, and begins after it', async () => {
    const { runs, begun, end } = controlled();
    const first = runs.run('a');
    const later = [runs.run('a'), runs.run('a'), runs.run('a')];
    expect(begun).toEqual(['a']);
    await end();
    await first;
    expect(begun).toEqual(['a', 'a']);
    await end();
    await Promise.all(later);
    expect(begun).toHaveLength(2);
  });

  it('is no other task’s', async () => {
    const { runs, begun, end } = controlled();
    const both = [runs.run('a'), runs.run('b')];
    expect(begun).toEqual(['a', 'b']);
    await end();
    await end();
    await Promise.all(both);
  });

  it('fails for those who share it, and begins although the one before failed', async () => {
    const { runs, begun, end } = controlled();
    const first = runs.run('a').catch((error: unknown) => error);
    const later = [runs.run('a'), runs.run('a')].map((run) => run.catch((error: unknown) => error));
    await end(new Error('one'));
    expect(await first).toEqual(new Error('one'));
    await end(new Error('two'));
    expect(await Promise.all(later)).toEqual([new Error('two'), new Error('two')]);
    const anew = runs.run('a');
    expect(begun).toHaveLength(3);
    await end();
    await anew;
  });
});
