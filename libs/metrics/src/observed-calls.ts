/** Names of those methods of an object that return promises. */
type AsyncMethod<T> = {
  [Name in keyof T]: T[Name] extends (...parameters: never[]) => Promise<unknown> ? Name : never;
}[keyof T];

type ParametersOf<Method> = Method extends (...parameters: infer P) => unknown ? P : never;
type ResultOf<Method> = Method extends (...parameters: never[]) => Promise<infer R> ? R : never;

/** A call that has ended. */
export interface ObservedCall<Method> {
  parameters: ParametersOf<Method>;
  /** The result, or the error with which the call failed. */
  outcome: { result: ResultOf<Method> } | { error: unknown };
  /** Duration of the call, in seconds. */
  seconds: number;
}

/**
 * Maps the name of each observed method to a function that is called after each call of the method and must
 * not throw.
 */
export type CallObservers<T> = {
  [Name in AsyncMethod<T>]?: (call: ObservedCall<T[Name]>) => void;
};

/**
 * Returns a proxy that behaves like the target, and calls the observers when a call of an observed method has
 * ended. If the target calls one of its own methods, no observer is called.
 */
export function observedCalls<T extends object>(target: T, observers: CallObservers<T>): T {
  const methods = new Map<PropertyKey, unknown>();
  return new Proxy(target, {
    get: (object, name) => {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(object, name, object);
      if (typeof value !== 'function') return value;
      const observe = (observers as Record<PropertyKey, Observer | undefined>)[name];
      // Methods are bound to the target, because the proxy does not have the target's private fields.
      const method: unknown =
        observe === undefined ? value.bind(object) : observed(value.bind(object) as AsyncFunction, observe);
      methods.set(name, method);
      return method;
    },
  });
}

type Observer = (call: {
  parameters: unknown[];
  outcome: { result: unknown } | { error: unknown };
  seconds: number;
}) => void;
type AsyncFunction = (...parameters: unknown[]) => Promise<unknown>;

function observed(method: AsyncFunction, observe: Observer): AsyncFunction {
  return async (...parameters) => {
    const began = performance.now();
    const seconds = (): number => (performance.now() - began) / 1_000;
    try {
      const result = await method(...parameters);
      observe({ parameters, outcome: { result }, seconds: seconds() });
      return result;
    } catch (error) {
      observe({ parameters, outcome: { error }, seconds: seconds() });
      throw error;
    }
  };
}
