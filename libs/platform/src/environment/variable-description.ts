/** Description of a variable in docs/configuration.md, without its default. */
export interface VariableDescription {
  /** Valid text of the variable, such as `a whole number from 1 to 10`. */
  validText: string;
  /** Purpose of the variable; empty if there is no text. */
  meaning: string;
  /** Name of the variable that is the lower bound of this variable. */
  notBelow?: string;
}

const NOTHING: VariableDescription = { validText: '', meaning: '' };
/** Descriptions by the prototype of the class that declares the variables, in the order of the source. */
const described = new WeakMap<object, Map<string, VariableDescription>>();

/** Adds a part to the description of a variable. Each decorator of the variable adds one part. */
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

/** Returns the variables that a class itself declares, without inherited ones. */
export function variablesOf(shape: new () => object): ReadonlyMap<string, VariableDescription> {
  return described.get(shape.prototype as object) ?? new Map();
}
