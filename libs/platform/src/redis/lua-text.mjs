import { readFileSync } from 'node:fs';

/**
 * Reads the text of one Lua file.
 * @param {string} path
 */
export function readLuaText(path) {
  return readFileSync(path, 'utf8');
}
