/** A JSON value, as it arrives and as it is served. */
export type Json = string | number | boolean | null | Json[] | JsonObject;

/** A JSON object: undocumented fields, attachments, overlays. */
export interface JsonObject {
  [field: string]: Json;
}

/** Whether a value that came out of `JSON.parse` is an object (not null, not an array). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is JSON all the way down; `depth` bounds hostile nesting. */
export function isJson(value: unknown, depth = 32): value is Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth - 1));
  return isObject(value) && Object.values(value).every((item) => isJson(item, depth - 1));
}
