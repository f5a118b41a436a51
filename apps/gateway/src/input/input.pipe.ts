import { Injectable, type PipeTransform } from '@nestjs/common';
import { validateSync, type ValidationError } from 'class-validator';
import { isRecord } from '#upstream';
import { type FieldFault, invalid, Problem } from '../problems/problem.js';

/** Deeper JSON is nobody's honest request, and a danger to everything that walks it. */
const DEEPEST = 32;

/** Reads a body or query as an instance of a DTO class, by the rules that its decorators state. */
@Injectable()
export class InputPipe<T extends object> implements PipeTransform<unknown, T> {
  constructor(private readonly shape: new () => T) {}

  transform(value: unknown): T {
    return readInput(this.shape, value);
  }
}

/**
 * The input as an instance of the DTO class. Values are taken as they are, never converted; `null` is the same as
 * absent; fields that the class does not declare are refused.
 * @throws {Problem} naming every field at fault
 */
export function readInput<T extends object>(shape: new () => T, value: unknown): T {
  if (!isRecord(value)) throw new Problem('malformed_body', 'The body must be a JSON object.');
  if (isDeeperThan(value, DEEPEST)) {
    throw new Problem('malformed_body', `The body is nested deeper than ${DEEPEST} levels.`);
  }
  const input = new shape();
  const unknown = Object.keys(value).filter((field) => !Object.hasOwn(input, field));
  for (const field of Object.keys(input)) {
    const given = Object.hasOwn(value, field) ? value[field] : undefined;
    if (given !== null && given !== undefined) Object.assign(input, { [field]: given });
  }
  const faults = [
    ...unknown.slice(0, 20).map((field) => ({ field: field.slice(0, 100), message: 'is not a known field' })),
    ...validateSync(input, { forbidUnknownValues: false, stopAtFirstError: true }).flatMap(faultOf),
  ];
  if (faults.length > 0) throw invalid(...faults);
  return input;
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
