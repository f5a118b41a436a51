import type { OpenAPIObject } from '@nestjs/swagger';

export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
export type Response = Exclude<NonNullable<Operation['responses'][string]>, { $ref: string }>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Returns every operation of the document with its path. */
export function operationsOf({ paths }: OpenAPIObject): { path: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      return operation === undefined ? [] : [{ path, operation }];
    }),
  );
}
