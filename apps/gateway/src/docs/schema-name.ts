import { getSchemaPath } from '@nestjs/swagger';

/** Returns the name of a model in the OpenAPI document. */
export function schemaNameOf(model: new () => object): string {
  return getSchemaPath(model).split('/').at(-1) ?? '';
}
