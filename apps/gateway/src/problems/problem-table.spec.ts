import { describe, expect, it } from '@jest/globals';
import * as accounts from '#accounts';
import * as blobs from '#blobs';
import * as events from '#events';
import * as feed from '#feed';
import * as platform from '#platform';
import * as relay from '#relay';
import * as upstream from '#upstream';
import * as webhooks from '#webhooks';
import { Problem } from './problem.js';
import { PROBLEM_CODES, PROBLEMS } from './problem-catalog.js';
import { problemOf } from './problem-of.js';

const LIBS = { accounts, blobs, events, feed, platform, relay, upstream, webhooks };

/** Errors that end before they get to a caller, and where. */
const NEVER_TOLD: Readonly<Record<string, string>> = {
  AccountGoneError: 'of a job of a worker, which ends',
  BlobMissingError: 'of the worker, which fails the send',
  ConfigurationError: 'ends the process at its start',
  ReaderLeaseLostError: 'of the dispatch',
  SealBrokenError: 'the installation has another ENCRYPTION_KEY: 500 is its answer',
  UpstreamError: 'the kind of all of them; nobody makes one',
  UpstreamReplyDeferredError: 'of the reads of a worker',
  UpstreamTooLateError: 'of the POST of a send',
};

type ErrorClass = abstract new (...args: never[]) => Error;

function errorClasses(): [string, ErrorClass][] {
  return Object.values(LIBS).flatMap((lib) =>
    Object.entries(lib as Record<string, unknown>).filter((entry): entry is [string, ErrorClass] => {
      const [, value] = entry;
      return typeof value === 'function' && value.prototype instanceof Error;
    }),
  );
}

describe('The table of problems', () => {
  it('has every error of the libs, but those that never get to a caller', () => {
    const classes = errorClasses();
    expect(classes.length).toBeGreaterThan(15);
    const untold = classes
      // Its kind is all that counts: no constructor is run.
      .filter(([, type]) => problemOf(Object.create(type.prototype as object)).code === 'internal')
      .map(([name]) => name);
    expect(untold.filter((name) => NEVER_TOLD[name] === undefined)).toEqual([]);
  });

  it('names nothing as never told that is not there any more', () => {
    const names = new Set(errorClasses().map(([name]) => name));
    expect(Object.keys(NEVER_TOLD).filter((name) => !names.has(name))).toEqual([]);
  });

  it('answers what nobody thought of with 500 internal, without its words', () => {
    for (const thrown of [
      new Error('a secret'),
      new TypeError('a secret'),
      'a secret',
      undefined,
      null,
      7,
      {},
    ]) {
      const problem = problemOf(thrown);
      expect(problem).toMatchObject({ code: 'internal', status: 500 });
      expect(problem.toJson('/v1/x', 'req_1')).not.toContain('secret');
    }
  });

  it.each(PROBLEM_CODES)('shows %s as RFC 9457 says, with its one status', (code) => {
    const errors = [{ field: 'a', message: 'is wrong' }];
    const shown: unknown = JSON.parse(new Problem(code, 'Why.', { errors }).toJson('/v1/x', 'req_1'));
    expect(shown).toEqual({
      type: `urn:tidings:problem:${code}`,
      title: PROBLEMS[code].title,
      status: PROBLEMS[code].status,
      detail: 'Why.',
      instance: '/v1/x',
      code,
      requestId: 'req_1',
      errors,
    });
  });
});
