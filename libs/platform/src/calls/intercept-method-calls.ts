/** Names of those methods of an object that return promises. */
export type AsyncMethod<T> = {
  [Name in keyof T]: T[Name] extends (...parameters: never[]) => Promise<unknown> ? Name : never;
}[keyof T];

export type ParametersOf<Method> = Method extends (...parameters: infer P) => unknown ? P : never;
export type ResultOf<Method> = Method extends (...parameters: never[]) => Promise<infer R> ? R : never;

/** A function that runs instead of a method. It calls the method with `proceed`, and may change the parameters. */
export type CallInterceptor<Method> = (
  proceed: (...parameters: ParametersOf<Method>) => Promise<ResultOf<Method>>,
  ...parameters: ParametersOf<Method>
) => Promise<ResultOf<Method>>;

/** Maps the name of each intercepted method to the function that runs instead. */
export type CallInterceptors<T> = { [Name in AsyncMethod<T>]?: CallInterceptor<T[Name]> };

/**
 * Returns an object that behaves like the target, except that calls of the given methods go through interceptors.
 * Calls that the target makes of its own methods are not intercepted.
 */
export function interceptMethodCalls<T extends object>(target: T, interceptors: CallInterceptors<T>): T {
  const methods = new Map<PropertyKey, unknown>();
  return new Proxy(target, {
    get: (object, name) => {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(object, name, object);
      if (typeof value !== 'function') return value;
      // Methods are called with the target as `this`, not with the proxy, because only the target has the private
      // fields.
      const method = value.bind(object) as AsyncFunction;
      const intercept = (interceptors as Record<PropertyKey, Interceptor | undefined>)[name];
      const bound: AsyncFunction =
        intercept === undefined ? method : (...parameters) => intercept(method, ...parameters);
      methods.set(name, bound);
      return bound;
    },
  });
}

type AsyncFunction = (...parameters: unknown[]) => Promise<unknown>;
type Interceptor = (proceed: AsyncFunction, ...parameters: unknown[]) => Promise<unknown>;
