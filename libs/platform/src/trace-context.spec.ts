import { describe, expect, it } from '@jest/globals';
import { isTraceContext, traceIdLogField } from './trace-context.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

describe('a trace context', () => {
  it.each([`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-00`])('is valid if it is %s', (text) => {
    expect(isTraceContext(text)).toBe(true);
    expect(traceIdLogField(text)).toEqual({ traceId: TRACE });
  });

  it.each([
    ['an absent header', undefined],
    ['a header that was sent twice', [`00-${TRACE}-${SPAN}-01`]],
    ['an empty text', ''],
    ['of another version', `01-${TRACE}-${SPAN}-01`],
    ['in upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['a text with the trace id zero', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a text with the span id zero', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['followed by further characters', `00-${TRACE}-${SPAN}-01-x`],
    ['followed by a line feed', `00-${TRACE}-${SPAN}-01\n`],
  ])('is invalid if it is %s', (_, text) => {
    expect(isTraceContext(text)).toBe(false);
  });

  it('that is absent adds no field to a log line', () => {
    expect(traceIdLogField(undefined)).toEqual({});
  });
});
