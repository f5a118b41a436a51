import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Instant, Optional, parseInstant, PhoneNumber, rule, TextOf, WebAddress } from '../input/rules.js';
import { isRecord } from '#upstream';

/** Characters of a message. */
export const LONGEST_MESSAGE = 65_536;
const LARGEST_METADATA_BYTES = 2_048;

/** The fields of a send, whatever their encoding. */
export class SendDto {
  @ApiProperty({ description: 'The recipient, in E.164 form.', example: '+14155550123' })
  @PhoneNumber()
  phoneNumber!: string;

  @ApiPropertyOptional({
    description: 'The kind of message: text, audio, or any other word that the messaging service knows.',
    pattern: '^[a-z][a-z0-9_-]{0,63}$',
    default: 'text',
    example: 'text',
  })
  @Optional()
  @rule(
    'type',
    'must be a lower-case word of at most 64 characters, for example text',
    (value) => typeof value === 'string' && /^[a-z][a-z0-9_-]{0,63}$/.test(value),
  )
  type: string = 'text';

  @ApiPropertyOptional({
    description: 'The text.',
    maxLength: LONGEST_MESSAGE,
    example: 'Your parcel is here.',
  })
  @Optional()
  @TextOf(1, LONGEST_MESSAGE)
  message?: string;

  @ApiPropertyOptional({
    description: 'Where a file is to be had.',
    format: 'uri',
    example: 'https://example.com/photo.jpg',
  })
  @Optional()
  @WebAddress()
  fileUrl?: string;

  @ApiPropertyOptional({ description: "The caller's own id.", maxLength: 128, example: 'order-1041' })
  @Optional()
  @TextOf(1, 128)
  reference?: string;

  @ApiPropertyOptional({
    description: 'Kept with the send: an object of at most 2 KB of JSON; as JSON text in a form.',
    type: 'object',
    additionalProperties: true,
    example: { order: 1041 },
  })
  @Optional()
  @rule('metadata', 'must be an object of at most 2048 bytes of JSON', isSmallObject)
  metadata?: Readonly<Record<string, unknown>>;

  @ApiPropertyOptional({
    description: 'Not sent before.',
    format: 'date-time',
    example: '2030-01-31T09:00:00Z',
  })
  @Optional()
  @Instant()
  sendAt?: string;

  @ApiPropertyOptional({
    description: 'Not sent after.',
    format: 'date-time',
    example: '2030-01-31T18:00:00Z',
  })
  @Optional()
  @Instant()
  @rule('expiresAfterSendAt', 'must be after sendAt', isAfterSendAt)
  expiresAt?: string;
}

/** The parts of a send as a form. */
export class SendFormDto extends SendDto {
  @ApiPropertyOptional({ description: 'A file to send.', type: 'string', format: 'binary' })
  file?: unknown;
}

function isSmallObject(value: unknown): boolean {
  return isRecord(value) && Buffer.byteLength(JSON.stringify(value)) <= LARGEST_METADATA_BYTES;
}

function isAfterSendAt(value: unknown, object: object): boolean {
  const [expiresAt, sendAt] = [
    parseInstant(value),
    'sendAt' in object ? parseInstant(object.sendAt) : undefined,
  ];
  return expiresAt === undefined || sendAt === undefined || expiresAt > sendAt;
}

/** The answer to a send that is stored. */
export class MessageQueuedDto {
  @ApiProperty({ enum: ['queued'] }) status!: 'queued';
  @ApiProperty({ example: 'The message is stored and will be sent.' }) message!: string;
  @ApiProperty({ example: 'snd_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) id!: string;
}
