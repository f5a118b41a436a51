import {
  type AsyncMethod,
  type CallInterceptors,
  interceptMethodCalls,
  type ParametersOf,
  type ResultOf,
} from './intercept-method-calls.js';

/** A method call that has ended. */
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
export function observeMethodCalls<T extends object>(target: T, observers: CallObservers<T>): T {
  const interceptors = Object.entries(observers as Record<string, Observer>).map(([name, observe]) => [
    name,
    observed(observe),
  ]);
  return interceptMethodCalls(target, Object.fromEntries(interceptors) as CallInterceptors<T>);
}

type Observer = (call: {
  parameters: unknown[];
  outcome: { result: unknown } | { error: unknown };
  seconds: number;
}) => void;
type AsyncFunction = (...parameters: unknown[]) => Promise<unknown>;

function observed(observe: Observer): (method: AsyncFunction, ...parameters: unknown[]) => Promise<unknown> {
  return async (method, ...parameters) => {
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
