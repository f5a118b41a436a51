import { describe, expect, it } from '@jest/globals';
import { formatCursor, isLogPositionBefore, parseCursor } from './cursor.js';

describe('a cursor', () => {
  it('is formatted as opaque text and parsed back unchanged', () => {
    const cursor = { epoch: 'a1b2', position: '1700000000000-18446744073709551615' };
    const text = formatCursor(cursor);
    expect(text).toMatch(/^[\w-]+$/);
    expect(parseCursor(text)).toEqual(cursor);
  });

  it.each([
    '',
    'now',
    '0-0',
    '%',
    'x'.repeat(1_000),
    Buffer.from('a/1-').toString('base64url'),
    Buffer.from('a/18446744073709551616-0').toString('base64url'),
    Buffer.from('a/18446744073709551615-18446744073709551615').toString('base64url'),
  ])('cannot be parsed from the invalid text %p', (text) => {
    expect(parseCursor(text)).toBeUndefined();
  });
});

describe('positions in the event log', () => {
  it.each([
    ['0-0', '1-0', true],
    ['9-0', '10-0', true],
    ['5-9', '5-10', true],
    ['5-10', '5-10', false],
    ['5-18446744073709551614', '5-18446744073709551615', true],
    ['6-0', '5-99', false],
  ])('are compared as numbers: isLogPositionBefore(%s, %s) is %p', (first, second, before) => {
    expect(isLogPositionBefore(first, second)).toBe(before);
  });
});
