import type { Check } from './checks.js';
import type { Json, JsonObject } from './json.js';
import { isJson, isObject } from './json.js';
import { InvalidInput } from './input-errors.js';

/**
 * Reads the JSON body of a control verb field by field. `done` rejects fields that were not read, such as
 * misspelled names.
 */
export class Input {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();

  /** @param name prefix of the field names in errors */
  constructor(
    body: unknown,
    private readonly name = '',
  ) {
    if (body !== undefined && body !== null && !isObject(body))
      throw new InvalidInput(name === '' ? 'body' : name, 'must be a JSON object');
    this.#values = isObject(body) ? body : {};
  }

  has(field: string): boolean {
    return this.#values[field] !== undefined;
  }

  raw(field: string): unknown {
    this.#read.add(field);
    return this.#values[field];
  }

  required<T>(field: string, check: Check<T>, shown: T): T {
    const value = this.raw(field);
    if (value === undefined) throw new InvalidInput(this.#full(field), 'is required');
    return check(value, this.#full(field), shown);
  }

  optional<T>(field: string, check: Check<T>, fallback: T): T {
    const value = this.raw(field);
    return value === undefined ? fallback : check(value, this.#full(field), fallback);
  }

  /** Reads a field like `optional`, but returns undefined if the field is missing. */
  maybe<T>(field: string, check: Check<T>, shown: T): T | undefined {
    const value = this.raw(field);
    return value === undefined ? undefined : check(value, this.#full(field), shown);
  }

  /** Returns all fields that were not read yet, as JSON. */
  rest(): JsonObject {
    const rest: [string, Json][] = [];
    for (const [field, value] of Object.entries(this.#values)) {
      if (this.#read.has(field) || value === undefined) continue;
      if (!isJson(value)) throw new InvalidInput(this.#full(field), 'must be JSON with at most 32 levels');
      this.#read.add(field);
      rest.push([field, value]);
    }
    return Object.fromEntries(rest);
  }

  /** Rejects fields that were not read. @throws InvalidInput */
  done(): void {
    for (const field of Object.keys(this.#values))
      if (!this.#read.has(field)) throw new InvalidInput(this.#full(field), 'is not a known field');
  }

  #full(field: string): string {
    return this.name === '' ? field : `${this.name}.${field}`;
  }
}
