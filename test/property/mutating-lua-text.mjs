// Replaces lua-text.mjs in the run of a mutant: applies the mutant to each Lua file that is read.
import { readFileSync } from 'node:fs';
import { mutated } from './mutated.mjs';

/** @param {string} path */
export function readLuaText(path) {
  return mutated(readFileSync(path, 'utf8'), path);
}
