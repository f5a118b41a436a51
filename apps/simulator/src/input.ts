import type { Check } from './checks.js';
import type { Json, JsonObject } from './json.js';
import { isJson, isObject } from './json.js';
import { InvalidInput } from './refusals.js';

/** The JSON body of a control verb, read field by field; `done` refuses what nobody asked for (a typing mistake). */
export class Input {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #asked = new Set<string>();

  /** @param name where the values stand, as a prefix of the fields' names in errors. */
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
    this.#asked.add(field);
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

  /** As `optional`, for values whose absence means something of its own. */
  maybe<T>(field: string, check: Check<T>, shown: T): T | undefined {
    const value = this.raw(field);
    return value === undefined ? undefined : check(value, this.#full(field), shown);
  }

  /** Every field that was not asked for until now, as JSON. */
  rest(): JsonObject {
    const rest: [string, Json][] = [];
    for (const [field, value] of Object.entries(this.#values)) {
      if (this.#asked.has(field) || value === undefined) continue;
      if (!isJson(value)) throw new InvalidInput(this.#full(field), 'must be JSON of moderate depth');
      this.#asked.add(field);
      rest.push([field, value]);
    }
    return Object.fromEntries(rest);
  }

  done(): void {
    for (const field of Object.keys(this.#values))
      if (!this.#asked.has(field)) throw new InvalidInput(this.#full(field), 'is not known here');
  }

  #full(field: string): string {
    return this.name === '' ? field : `${this.name}.${field}`;
  }
}
