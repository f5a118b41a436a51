import { Injectable, type PipeTransform } from '@nestjs/common';
import { validateSync, type ValidationError } from 'class-validator';
import { isRecord } from '#upstream';
import { type FieldFault, invalid, Problem } from '../problems/problem.js';

/** Deeper JSON is nobody's honest request, and a danger to everything that walks it. */
const DEEPEST = 32;

/** So many unknown fields are named. */
const MOST_FAULTS = 20;

/** How an input is read, other than a whole new object. */
export interface InputOptions {
  /** Whether there may be no body at all: then it is an empty object. */
  mayBeAbsent?: boolean;
  /** Whether `null` is a value: what the field held is to be cleared. */
  keepsNull?: boolean;
  /** What is wrong with fields that the class does not declare; without it, that there are any. */
  othersFaults?: (others: Readonly<Record<string, unknown>>) => FieldFault[];
}

/** Reads a body or query as an instance of a DTO class, by the rules that its decorators state. */
@Injectable()
export class InputPipe<T extends object> implements PipeTransform<unknown, T> {
  constructor(
    private readonly shape: new () => T,
    private readonly options: InputOptions = {},
  ) {}

  transform(value: unknown): T {
    return readInput(this.shape, value, this.options);
  }
}

/** A DTO's fields that were given; those that were not are absent instead of undefined. */
export function givenIn<T extends object>(input: T): { [Field in keyof T]?: Exclude<T[Field], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof givenIn<T>
  >;
}

/**
 * The input as an instance of the DTO class. Values are taken as they are, never converted; `null` is the same as
 * absent, unless it is kept; fields that the class does not declare are refused, unless the options judge them.
 * @throws {Problem} naming every field at fault
 */
export function readInput<T extends object>(
  shape: new () => T,
  given: unknown,
  { mayBeAbsent = false, keepsNull = false, othersFaults = refuseAll }: InputOptions = {},
): T {
  const value = mayBeAbsent && (given === undefined || given === null) ? {} : given;
  if (!isRecord(value)) throw new Problem('malformed_body', 'The body must be a JSON object.');
  if (isDeeperThan(value, DEEPEST)) {
    throw new Problem('malformed_body', `The body is nested deeper than ${DEEPEST} levels.`);
  }
  const input = new shape();
  for (const field of Object.keys(input)) {
    const item = Object.hasOwn(value, field) ? value[field] : undefined;
    if (item !== undefined && (keepsNull || item !== null)) Object.assign(input, { [field]: item });
  }
  const faults = [
    ...othersFaults(otherFields(input, value)).slice(0, MOST_FAULTS),
    ...validateSync(input, { forbidUnknownValues: false, stopAtFirstError: true }).flatMap(faultOf),
  ];
  if (faults.length > 0) throw invalid(...faults);
  return input;
}

/** The fields of a value that a DTO does not declare. */
export function otherFields(input: object, value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !Object.hasOwn(input, field)));
}

/** The fault of a field that nobody knows. */
export function unknownField(field: string, hint = ''): FieldFault {
  return { field: field.slice(0, 100), message: `is not a known field${hint}` };
}

function refuseAll(others: Readonly<Record<string, unknown>>): FieldFault[] {
  return Object.keys(others).map((field) => unknownField(field));
}

function faultOf({ property, constraints = {} }: ValidationError): FieldFault[] {
  const [message] = Object.values(constraints);
  return message === undefined ? [] : [{ field: property, message }];
}

/** Walks without recursion: the depth is the caller's choice. */
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
