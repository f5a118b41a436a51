import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { PROBLEM_CODES, PROBLEM_TYPE, PROBLEMS, type ProblemCode } from './problem-catalog.js';

class FieldFaultDto {
  @ApiProperty({ example: 'phoneNumber' }) field!: string;
  @ApiProperty({ example: 'must be a phone number in E.164 form, for example +14155550123' })
  message!: string;
}

/** Every error's body. */
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

/** What any address can be answered with, whoever asks: requests that cannot be read, or that went wrong here. */
const ANYWHERE: readonly ProblemCode[] = [
  'malformed_body',
  'payload_too_large',
  'unsupported_media_type',
  'expectation_failed',
  'internal',
];

/** What any operation under `/v1` can be answered with besides. */
const WITH_KEY: readonly ProblemCode[] = [
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'unavailable',
  'loop_detected',
];

/** Documents the errors of an operation under `/v1`, one response a status. */
export function ApiProblems(...codes: readonly ProblemCode[]): MethodDecorator {
  return responsesOf([...codes, ...ANYWHERE, ...WITH_KEY]);
}

/** Documents the errors of an operation that needs no key. */
export function ApiPublicProblems(): MethodDecorator {
  return responsesOf(ANYWHERE);
}

function responsesOf(codes: readonly ProblemCode[]): MethodDecorator {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set(codes)) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return applyDecorators(
    ...[...byStatus].map(([status, those]) =>
      ApiResponse({
        status,
        description: those.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
        content: {
          [PROBLEM_TYPE]: {
            schema: narrowed(those),
          },
        },
      }),
    ),
  );
}

/** A problem with one of these codes. */
function narrowed(codes: readonly ProblemCode[]): { $ref: string } {
  const schema = { $ref: getSchemaPath(ProblemDto), properties: { code: { enum: codes } } };
  return schema;
}
