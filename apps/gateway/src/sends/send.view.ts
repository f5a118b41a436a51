import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { type Send, SEND_STATUSES, type SendAttempt, type SendStatus } from '#relay';

@ApiSchema({ name: 'SendAttempt' })
class SendAttemptDto implements SendAttempt {
  @ApiProperty({ format: 'date-time' }) at!: string;
  @ApiProperty({ enum: ['accepted', 'not_taken', 'refused', 'ambiguous'] }) outcome!: SendAttempt['outcome'];
  @ApiProperty({ type: 'integer', required: false }) httpStatus?: number;
  @ApiProperty({ type: 'string', required: false }) error?: string;
}

@ApiSchema({ name: 'SendFile' })
class SendFileDto {
  @ApiProperty({ example: 'photo.jpg' }) name!: string;
  @ApiProperty({ example: 'image/jpeg' }) contentType!: string;
  @ApiProperty({ type: 'integer' }) size!: number;
  @ApiProperty() sha256!: string;
}

/** Documents a {@link Send}. */
@ApiSchema({ name: 'Send' })
export class SendView implements Send {
  @ApiProperty({ example: 'snd_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) id!: string;
  @ApiProperty({ enum: SEND_STATUSES }) status!: SendStatus;
  @ApiProperty({ example: '+14155550123' }) phoneNumber!: string;
  @ApiProperty({ example: 'text' }) type!: string;
  @ApiProperty({ type: 'string', nullable: true }) message!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) fileUrl!: string | null;
  @ApiProperty({ type: SendFileDto, nullable: true }) file!: SendFileDto | null;
  @ApiProperty({ type: 'string', nullable: true }) reference!: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true })
  metadata!: Readonly<Record<string, unknown>> | null;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Undocumented fields of the send request, which are passed on to the messaging service.',
    example: {},
  })
  extraFields!: Readonly<Record<string, string>>;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty({ format: 'date-time' }) updatedAt!: string;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) sendAt!: string | null;
  @ApiProperty({ type: 'string', format: 'date-time', nullable: true }) expiresAt!: string | null;
  @ApiProperty({ type: [SendAttemptDto] }) attempts!: SendAttemptDto[];
  @ApiProperty({ type: 'string', nullable: true }) contactId!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) messageId!: string | null;
  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Reason why the send failed, expired or is unknown.',
  })
  reason!: string | null;
}
