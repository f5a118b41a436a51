/** Description of a variable in docs/configuration.md, without its default. */
export interface VariableDescription {
  /** Says which text is valid for the variable, such as `a whole number from 1 to 10`. */
  validText: string;
  /** Purpose of the variable; empty if the variable has no description. */
  meaning: string;
  /** Name of another variable. The value of the described variable must not be below the value of the other. */
  notBelow?: string;
  /** True if the value is secret, and therefore must not be shown, for example in a support bundle. */
  isSecret?: true;
}

const NOTHING: VariableDescription = { validText: '', meaning: '' };
/** Maps the prototype of a class to the descriptions of the variables of that class, in source order. */
const described = new WeakMap<object, Map<string, VariableDescription>>();

/** Adds a part to the description of a variable. Each decorator of the variable adds one part. */
export function addVariableDescriptionPart(
  target: object,
  property: string | symbol,
  part: Partial<VariableDescription>,
): void {
  const variables = described.get(target) ?? new Map<string, VariableDescription>();
  described.set(target, variables);
  const name = String(property);
  variables.set(name, { ...(variables.get(name) ?? NOTHING), ...part });
}

/** Returns the descriptions of the variables that a class itself declares, without inherited ones. */
export function variableDescriptionsOf(shape: new () => object): ReadonlyMap<string, VariableDescription> {
  return described.get(shape.prototype as object) ?? new Map();
}
