import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { isRecord } from '#platform';
import { parseInstant } from '../input/instant.js';
import { Instant, Optional, PhoneNumber, rule, TextMatching, TextOf, WebAddress } from '../input/rules.js';

/** Maximum length of a message text, in characters. */
const MAX_MESSAGE_LENGTH = 65_536;
const MAX_METADATA_BYTES = 2_048;

/** The fields of a send request, as JSON or as a form. */
@ApiSchema({ name: 'NewSend' })
export class SendDto {
  @ApiProperty({ description: 'Phone number of the recipient in E.164 form.', example: '+14155550123' })
  @PhoneNumber()
  phoneNumber!: string;

  @ApiProperty({
    description:
      'Type of the message: text, audio, or any other message type that the messaging service supports.',
    default: 'text',
    example: 'text',
  })
  @Optional()
  @TextMatching(
    /^[a-z][a-z0-9_-]{0,63}$/,
    'must start with a lower-case letter and have at most 64 characters (a-z, 0-9, _ and -); example: "text"',
  )
  type: string = 'text';

  @ApiProperty({
    description: 'Text of the message. The text is required unless the request has a file or a fileUrl.',
    example: 'Your parcel is here.',
  })
  @Optional()
  @TextOf(MAX_MESSAGE_LENGTH)
  message?: string;

  @ApiProperty({
    description: 'URL of a file to send.',
    example: 'https://example.com/photo.jpg',
  })
  @Optional()
  @WebAddress()
  fileUrl?: string;

  @ApiProperty({
    description: 'Your own id for the send. `GET /v1/sends?reference=` finds sends by this id.',
    example: 'order-1041',
  })
  @Optional()
  @TextOf(128)
  reference?: string;

  @ApiProperty({
    description:
      'Your own data, stored with the send: an object of at most 2 KB of JSON. In a request with `multipart/form-data`, the value of `metadata` is JSON text.',
    type: 'object',
    additionalProperties: true,
    example: { order: 1041 },
  })
  @Optional()
  @rule('metadata', 'must be an object of at most 2048 bytes of JSON', isSmallObject)
  metadata?: Readonly<Record<string, unknown>>;

  @ApiProperty({
    description: 'Earliest time to send the message.',
  })
  @Optional()
  @Instant()
  sendAt?: string;

  @ApiProperty({
    description: 'Latest time to send the message. A send that is not relayed by `expiresAt` expires.',
  })
  @Optional()
  @Instant()
  @rule('expiresAfterSendAt', 'must be later than `sendAt`', isAfterSendAt)
  expiresAt?: string;
}

/** The parts of a send request as a form. */
@ApiSchema({ name: 'NewSendForm' })
export class SendFormDto extends SendDto {
  @ApiProperty({
    description: 'File to send with the message.',
    type: 'string',
    format: 'binary',
    required: false,
  })
  file?: unknown;
}

function isSmallObject(value: unknown): boolean {
  return isRecord(value) && Buffer.byteLength(JSON.stringify(value)) <= MAX_METADATA_BYTES;
}

function isAfterSendAt(value: unknown, object: object): boolean {
  const [expiresAt, sendAt] = [
    parseInstant(value),
    'sendAt' in object ? parseInstant(object.sendAt) : undefined,
  ];
  return expiresAt === undefined || sendAt === undefined || expiresAt > sendAt;
}

/** Response to a send request whose send is stored. */
@ApiSchema({ name: 'QueuedSend' })
export class MessageQueuedDto {
  @ApiProperty({ enum: ['queued'] }) status!: 'queued';
  @ApiProperty({ example: 'The message is stored and will be sent.' }) message!: string;
  @ApiProperty({ example: 'snd_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) id!: string;
}
