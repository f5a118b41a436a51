import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiResponse, getSchemaPath, ApiSchema } from '@nestjs/swagger';
import { PROBLEM_CODES, PROBLEM_TYPE, PROBLEMS, type ProblemCode } from './problem-catalog.js';

@ApiSchema({ name: 'FieldError' })
class FieldFaultDto {
  @ApiProperty({ example: 'phoneNumber' }) field!: string;
  @ApiProperty({ example: 'must be a phone number in E.164 form, for example +14155550123' })
  message!: string;
}

/** Body of every error response. */
@ApiSchema({ name: 'Problem' })
export class ProblemDto {
  @ApiProperty({ example: 'urn:tidings:problem:validation_failed' }) type!: string;
  @ApiProperty({ example: PROBLEMS.validation_failed.title }) title!: string;
  @ApiProperty({ example: 400 }) status!: number;
  @ApiProperty({ example: 'phoneNumber must be a phone number in E.164 form, for example +14155550123.' })
  detail!: string;
  @ApiProperty({ example: '/v1/messages/send' }) instance!: string;
  @ApiProperty({ enum: PROBLEM_CODES, example: 'validation_failed' }) code!: ProblemCode;
  @ApiProperty({ example: 'req_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) requestId!: string;
  @ApiPropertyOptional({ type: [FieldFaultDto] }) errors?: FieldFaultDto[];
}

/** Codes that every operation can return: malformed requests and internal errors. */
const COMMON_CODES: readonly ProblemCode[] = [
  'malformed_body',
  'payload_too_large',
  'unsupported_media_type',
  'expectation_failed',
  'internal',
];

/** Codes that every operation under `/v1` can return in addition to {@link COMMON_CODES}. */
const AUTHENTICATED_CODES: readonly ProblemCode[] = [
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'unavailable',
  'loop_detected',
];

/** Documents the errors of an operation under `/v1`, as one response per status. */
export function ApiProblems(...codes: readonly ProblemCode[]): MethodDecorator {
  return responsesOf([...codes, ...COMMON_CODES, ...AUTHENTICATED_CODES]);
}

/** Documents the errors of an operation that needs no API key. */
export function ApiPublicProblems(...codes: readonly ProblemCode[]): MethodDecorator {
  return responsesOf([...codes, ...COMMON_CODES]);
}

function responsesOf(codes: readonly ProblemCode[]): MethodDecorator {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set(codes)) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return applyDecorators(
    ...[...byStatus].map(([status, codesOfStatus]) =>
      ApiResponse({
        status,
        description: codesOfStatus.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
        content: {
          [PROBLEM_TYPE]: {
            schema: problemSchema(codesOfStatus),
          },
        },
      }),
    ),
  );
}

/** Returns the schema of a problem whose `code` is one of the given codes. */
function problemSchema(codes: readonly ProblemCode[]): { $ref: string } {
  const schema = { $ref: getSchemaPath(ProblemDto), properties: { code: { enum: codes } } };
  return schema;
}
