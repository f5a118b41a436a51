import type { Logger } from '../log/logger.js';
import { KNOWN_ENVIRONMENT_VARIABLES } from './known-variables.js';

/**
 * An environment variable whose name is unknown and probably misspelled. The variable has no effect. `nearest` is the
 * most similar valid name.
 */
export interface UnknownVariable {
  name: string;
  nearest: string;
}

/**
 * Maximum number of unknown variables that are reported. Further ones are not reported, because so many unknown
 * variables are probably meant for another program.
 */
const MAX_NAMED = 20;
/**
 * Maximum length of a name that is checked for misspelling, in characters. Every valid name is much shorter.
 */
const MAX_LENGTH = 64;
/** Maximum number of wrong characters with which a name still counts as similar to a valid one. */
const MAX_WRONG = 3;
/** Maximum share of wrong characters with which a name still counts as similar to a valid one. */
const MAX_WRONG_PART = 0.25;

/** Matches variables of the AWS SDK and of OpenTelemetry. Many of them are valid, but not declared by Tidings. */
const FOREIGN = /^(?:AWS|OTEL)_/;
/**
 * Matches variables that Kubernetes sets for each service, such as `REDIS_SERVICE_HOST` for a service
 * `redis`.
 */
const SERVICE_LINK = /_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP|SCTP).*)?$/;

/**
 * First words that several valid names share, such as `WEBHOOK`. An unknown name that begins with such a word
 * is probably misspelled.
 */
const FAMILIES = familiesOf([...KNOWN_ENVIRONMENT_VARIABLES].filter((name) => !FOREIGN.test(name)));

/**
 * Returns the variables whose names are unknown but resemble the name of a variable of Tidings, at most
 * {@link MAX_NAMED}. Variables without a value are left out.
 */
export function findUnknownEnvironmentVariables(
  source: Readonly<Record<string, string | undefined>>,
): UnknownVariable[] {
  const found: UnknownVariable[] = [];
  for (const [name, text] of Object.entries(source)) {
    if (text === undefined || text === '' || KNOWN_ENVIRONMENT_VARIABLES.has(name) || !resemblesOwnName(name))
      continue;
    const { nearest, distance } = nearestTo(name);
    const isNear = distance <= Math.min(MAX_WRONG, name.length * MAX_WRONG_PART);
    if (isNear || FAMILIES.has(firstWordOf(name))) found.push({ name, nearest });
    if (found.length === MAX_NAMED) break;
  }
  return found;
}

/** Logs a warning for each unknown variable that is probably misspelled, for at most {@link MAX_NAMED} variables. */
export function warnAboutUnknownEnvironmentVariables(
  logger: Logger,
  source: Readonly<Record<string, string | undefined>> = process.env,
): void {
  for (const { name, nearest } of findUnknownEnvironmentVariables(source)) {
    logger.warn(
      { variable: name, nearest },
      `the environment variable ${name} is unknown and has no effect; did you mean ${nearest}?`,
    );
  }
}

function resemblesOwnName(name: string): boolean {
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
  for (const nearest of KNOWN_ENVIRONMENT_VARIABLES) {
    const distance = editDistance(name, nearest);
    if (distance < best.distance) best = { nearest, distance };
  }
  return best;
}

/**
 * Returns the Levenshtein distance of two texts: the minimum number of characters to insert, remove or
 * replace to turn one text into the other.
 */
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
