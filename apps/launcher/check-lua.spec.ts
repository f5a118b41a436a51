import { expect, it } from '@jest/globals';
import { checkLua } from './check-lua.mjs';

it('finds nothing wrong with the Lua scripts of the product', () => {
  expect(checkLua(() => undefined)).toEqual([]);
});
