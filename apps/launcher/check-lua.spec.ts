import { expect, it } from '@jest/globals';
import { checkLua } from './check-lua.mjs';

it('the check of Lua scripts reports no error in any Lua script of the project', () => {
  expect(checkLua(() => undefined)).toEqual([]);
});
