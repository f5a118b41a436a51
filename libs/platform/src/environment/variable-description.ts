/** What the page of the configuration says of a variable, besides its default. */
export interface VariableDescription {
  /** What its text must be, such as `a whole number from 1 to 10`. */
  wanted: string;
  /** What it is for; empty where nobody wrote it. */
  meaning: string;
  /** The variable that it must not be below. */
  notBelow?: string;
}

const NOTHING: VariableDescription = { wanted: '', meaning: '' };
/** By the prototype of the class that names them, in the order of the source. */
const described = new WeakMap<object, Map<string, VariableDescription>>();

/** Notes a part of the description of a variable; decorators of one variable each note their own. */
export function describeVariable(
  target: object,
  property: string | symbol,
  part: Partial<VariableDescription>,
): void {
  const variables = described.get(target) ?? new Map<string, VariableDescription>();
  described.set(target, variables);
  const name = String(property);
  variables.set(name, { ...(variables.get(name) ?? NOTHING), ...part });
}

/** The variables that a class itself names, without those of the class it extends. */
export function variablesOf(shape: new () => object): ReadonlyMap<string, VariableDescription> {
  return described.get(shape.prototype as object) ?? new Map();
}
