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

/** Errors that never reach a caller, each with the reason. */
const NEVER_REACH_CALLERS: Readonly<Record<string, string>> = {
  AccountNotFoundError: 'ends a job of a worker',
  BlobMissingError: 'makes the worker fail the send',
  ConfigurationError: 'stops the process at start',
  EventLogReaderLeaseLostError: 'occurs only in the dispatcher',
  SecretDecryptionError: 'means a wrong ENCRYPTION_KEY; callers get 500 internal',
  UpstreamError: 'is an abstract base class',
  TooManyLargeRepliesError: 'occurs only in reads of a worker',
  UpstreamRequestNotSentError: 'occurs only in the POST of a send',
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

it('the list of errors that never reach a caller contains only existing error classes', () => {
  const names = new Set(errorClasses().map(([name]) => name));
  expect(Object.keys(NEVER_REACH_CALLERS).filter((name) => !names.has(name))).toEqual([]);
});

describe('The error-to-problem table', () => {
  it('has a rule for every error class in libs/ whose errors can reach a caller', () => {
    const classes = errorClasses();
    expect(classes.length).toBeGreaterThan(15);
    const withoutRule = classes
      // Rules look at the prototype only, so no constructor needs to run.
      .filter(([, type]) => problemOf(Object.create(type.prototype as object)).code === 'internal')
      .map(([name]) => name);
    expect(withoutRule.filter((name) => NEVER_REACH_CALLERS[name] === undefined)).toEqual([]);
  });

  it('converts an unknown error to 500 internal without its message', () => {
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

  it.each(PROBLEM_CODES)(
    'serializes the code %s as RFC 9457 requires, with the status of that code',
    (code) => {
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
    },
  );
});
