/** A JSON value. */
export type Json = string | number | boolean | null | Json[] | JsonObject;

/** A JSON object, for example undocumented fields or an attachment. */
export interface JsonObject {
  [field: string]: Json;
}

/** Returns true if a parsed JSON value is an object, not null or an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns true if a value is JSON at all levels. `depth` limits the nesting. */
export function isJson(value: unknown, depth = 32): value is Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth - 1));
  return isObject(value) && Object.values(value).every((item) => isJson(item, depth - 1));
}
