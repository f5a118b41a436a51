// Stands for lua-text.mjs in the run of a mutant: Lua files are read with the mutant put in.
import { readFileSync } from 'node:fs';
import { mutated } from './mutated.mjs';

/** @param {string} path */
export function readLuaText(path) {
  return mutated(readFileSync(path, 'utf8'), path);
}
