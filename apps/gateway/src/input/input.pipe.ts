import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { validateSync, type ValidationError } from 'class-validator';
import { isRecord } from '#platform';
import { type FieldFault, invalid, Problem } from '../problems/problem.js';

/** Maximum nesting depth of a JSON body. Deeper bodies could exhaust the stack of recursive code. */
const MAX_DEPTH = 32;

/** Maximum number of unknown fields that an error lists. */
const MAX_FAULTS = 20;

const ONLY_ONCE = 'must occur only once in the request';

/** Options for reading a body or query. */
export interface InputOptions {
  /** True if the body is optional. A missing body is read as an empty object. */
  mayBeAbsent?: boolean;
  /** True if `null` is a value, which clears the field. Otherwise `null` means that the field is absent. */
  keepsNull?: boolean;
  /** The parameters of a query that may occur several times. Undefined for a body, which has lists instead. */
  repeatable?: readonly string[];
  /** Validates the fields that the DTO class does not declare. The default rejects all of them. */
  otherFieldFaults?: (others: Readonly<Record<string, unknown>>) => FieldFault[];
}

/** Pipe that validates a body or query and converts it to an instance of a DTO class. */
@Injectable()
export class InputPipe<T extends object> implements PipeTransform<unknown, T> {
  constructor(
    private readonly shape: new () => T,
    private readonly options: InputOptions = {},
  ) {}

  transform(value: unknown, { type }: Pick<ArgumentMetadata, 'type'>): T {
    return readInput(this.shape, value, { ...(type === 'query' ? { repeatable: [] } : {}), ...this.options });
  }
}

/** Returns the fields of a DTO without those that are undefined. */
export function givenFields<T extends object>(
  input: T,
): { [Field in keyof T]?: Exclude<T[Field], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof givenFields<T>
  >;
}

/**
 * Validates an input with the decorators of a DTO class and returns an instance of that class. Values are not converted.
 * `null` means absent unless `keepsNull` is set. Undeclared fields are rejected unless `otherFieldFaults` accepts them.
 * @throws {Problem} that names every invalid field
 */
export function readInput<T extends object>(
  shape: new () => T,
  given: unknown,
  { mayBeAbsent = false, keepsNull = false, repeatable, otherFieldFaults = rejectAll }: InputOptions = {},
): T {
  const value = mayBeAbsent && (given === undefined || given === null) ? {} : given;
  if (!isRecord(value)) throw new Problem('malformed_body', 'The request body must be a JSON object.');
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw new Problem('malformed_body', `The request body is nested more than ${MAX_DEPTH} levels deep.`);
  }
  const input = new shape();
  for (const field of Object.keys(input)) {
    const item = Object.hasOwn(value, field) ? value[field] : undefined;
    if (item !== undefined && (keepsNull || item !== null)) Object.assign(input, { [field]: item });
  }
  const faults = [
    ...otherFieldFaults(otherFields(input, value)).slice(0, MAX_FAULTS),
    ...validateSync(input, { forbidUnknownValues: false, stopAtFirstError: true }).flatMap((error) =>
      isRepeated(error, repeatable) ? { field: error.property, message: ONLY_ONCE } : faultOf(error),
    ),
  ];
  if (faults.length > 0) throw invalid(...faults);
  return input;
}

/** Returns the fields of a value that a DTO does not declare. */
export function otherFields(input: object, value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !Object.hasOwn(input, field)));
}

/** Returns the fault of an unknown field. @param meant name of the known field that the caller probably meant */
export function unknownField(field: string, meant?: string): FieldFault {
  const message = meant === undefined ? 'is not a known field' : `is not a known field; use ${meant} instead`;
  return { field: field.slice(0, 100), message };
}

function rejectAll(others: Readonly<Record<string, unknown>>): FieldFault[] {
  return Object.keys(others).map((field) => unknownField(field));
}

/** True if a query parameter that may occur only once occurs several times. */
function isRepeated(
  { property, value }: ValidationError,
  repeatable: readonly string[] | undefined,
): boolean {
  return Array.isArray(value) && repeatable?.includes(property) === false;
}

function faultOf({ property, constraints = {} }: ValidationError): FieldFault[] {
  const [message] = Object.values(constraints);
  return message === undefined ? [] : [{ field: property, message }];
}

/** True if a value is nested deeper than `levels`. It does not recurse, because the caller controls the depth. */
function isDeeperThan(value: object, levels: number): boolean {
  let layer: object[] = [value];
  for (let level = 1; layer.length > 0; level++) {
    if (level > levels) return true;
    layer = layer.flatMap((node) =>
      Object.values(node).filter((child): child is object => typeof child === 'object' && child !== null),
    );
  }
  return false;
}
