import { getMetadataStorage } from 'class-validator';
import type { Logger } from '../log/logger.js';
import { GatewayEnvironment, WorkerEnvironment } from './environment.js';

/** A variable that is set, has no effect, and may be meant for another one. */
export interface UnknownVariable {
  name: string;
  nearest: string;
}

/** More than so many are not named: then the whole environment is another program's. */
const MAX_NAMED = 20;
/** No name of ours is nearly as long; in characters. */
const MAX_LENGTH = 64;
/** Up to so many characters may be wrong, and up to this part of the name. */
const MAX_WRONG = 3;
const MAX_WRONG_PART = 0.25;

/** Read by the AWS SDK, which knows many more of them. */
const FOREIGN = /^AWS_/;
/** Set by Kubernetes in every container for a service, which may well be named `redis` or `worker`. */
const SERVICE_LINK = /_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP|SCTP).*)?$/;

/** The names of all processes: they are often given the same environment. */
const KNOWN: ReadonlySet<string> = new Set(
  [GatewayEnvironment, WorkerEnvironment].flatMap((shape) =>
    getMetadataStorage()
      .getTargetValidationMetadatas(shape, '', true, false)
      .map(({ propertyName }) => propertyName),
  ),
);

/** First words that several of our names share: another name that begins so is most likely meant for us. */
const FAMILIES = familiesOf([...KNOWN].filter((name) => !FOREIGN.test(name)));

/** Which variables of the environment look like ours, and are none. */
export function unknownVariables(source: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
  const found: UnknownVariable[] = [];
  for (const [name, text] of Object.entries(source)) {
    if (text === undefined || text === '' || KNOWN.has(name) || !mayBeOurs(name)) continue;
    const { nearest, distance } = nearestTo(name);
    const isNear = distance <= Math.min(MAX_WRONG, name.length * MAX_WRONG_PART);
    if (isNear || FAMILIES.has(firstWordOf(name))) found.push({ name, nearest });
    if (found.length === MAX_NAMED) break;
  }
  return found;
}

/** Names them in the log, so that a misspelt setting does not go unnoticed. */
export function warnOfUnknownVariables(
  logger: Logger,
  source: Readonly<Record<string, string | undefined>> = process.env,
): void {
  for (const { name, nearest } of unknownVariables(source)) {
    logger.warn(
      { variable: name, nearest },
      `${name} is not a variable of Tidings, and has no effect: did you mean ${nearest}?`,
    );
  }
}

function mayBeOurs(name: string): boolean {
  return (
    name.length <= MAX_LENGTH &&
    /^[A-Z][A-Z0-9_]*$/.test(name) &&
    !FOREIGN.test(name) &&
    !SERVICE_LINK.test(name)
  );
}

function firstWordOf(name: string): string {
  return name.split('_', 1)[0] ?? '';
}

function familiesOf(names: readonly string[]): ReadonlySet<string> {
  const words = names.map(firstWordOf);
  return new Set(words.filter((word, at) => words.indexOf(word) !== at));
}

function nearestTo(name: string): { nearest: string; distance: number } {
  let best = { nearest: '', distance: Infinity };
  for (const nearest of KNOWN) {
    const distance = editDistance(name, nearest);
    if (distance < best.distance) best = { nearest, distance };
  }
  return best;
}

/** How many characters are to be inserted, removed or replaced to make one of the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      line.push(Math.min(replaced, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1));
    }
    above = line;
  }
  return above[to.length] ?? 0;
}
