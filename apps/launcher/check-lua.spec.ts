import { expect, it } from '@jest/globals';
import { checkLua } from './check-lua.mjs';

it('the check of Lua scripts finds no fault in the product', () => {
  expect(checkLua(() => undefined)).toEqual([]);
});
