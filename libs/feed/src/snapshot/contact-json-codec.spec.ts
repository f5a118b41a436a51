import { describe, expect, it } from '@jest/globals';
import { packContactJson, unpackContactJson } from './contact-json-codec.js';

describe('the packed JSON of a contact', () => {
  it.each([
    ['c', '{"id":"c"}', '}'],
    ['c', '{"id":"c","name":"Ada"}', ',"name":"Ada"}'],
    ['a"b', '{"id":"a\\"b","n":1}', ',"n":1}'],
    ['7', '{"id":7,"n":1}', '{"id":7,"n":1}'],
    ['c', '{"name":"Ada","id":"c"}', '{"name":"Ada","id":"c"}'],
    ['c', '{"id":"cd"}', '{"id":"cd"}'],
    ['c', '{}', '{}'],
  ])('for the id %s and the JSON %s is %s, and unpacks to the original JSON', (id, text, kept) => {
    expect(packContactJson(id, text)).toBe(kept);
    expect(unpackContactJson(id, kept)).toBe(text);
  });
});
