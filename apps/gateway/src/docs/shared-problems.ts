import type { OpenAPIObject } from '@nestjs/swagger';
import { PROBLEM_TYPE } from '../problems/problem-catalog.js';
import { operationsOf, type Response } from './operations.js';

/**
 * Moves the error responses of all operations to the shared responses of the document, so that the document contains
 * each response only once. The name of a shared response consists of its problem codes, for example
 * `ValidationFailedOrMalformedBody`.
 */
export function shareProblems(document: OpenAPIObject): void {
  const shared: Record<string, Response> = {};
  for (const { path, operation } of operationsOf(document)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const codes = codesOf(response);
      if (response === undefined || '$ref' in response || codes === undefined) continue;
      // Operations that need no API key have fewer headers.
      const name = `${path.startsWith('/v1/') ? '' : 'Public'}${codes.map(inPascalCase).join('Or')}`;
      shared[name] ??= response;
      operation.responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  document.components = { ...document.components, responses: shared };
}

/** Returns the problem codes of an error response, or undefined for another response. */
function codesOf(response: object | undefined): readonly string[] | undefined {
  const { content } = (response ?? {}) as Response;
  const schema = content?.[PROBLEM_TYPE]?.schema as
    { properties?: { code?: { enum?: string[] } } } | undefined;
  return schema?.properties?.code?.enum;
}

function inPascalCase(code: string): string {
  return code
    .split('_')
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('');
}
