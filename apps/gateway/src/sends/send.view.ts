import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import {
  LOOKUP_OUTCOMES,
  type LookupCandidate,
  type Send,
  SEND_STATUSES,
  type SendAttempt,
  type SendLookup,
  type SendStatus,
} from '#relay';

@ApiSchema({ name: 'SendAttempt' })
class SendAttemptDto implements SendAttempt {
  @ApiProperty({ format: 'date-time' }) at!: string;
  @ApiProperty({ enum: ['accepted', 'not_taken', 'refused', 'ambiguous'] }) outcome!: SendAttempt['outcome'];
  @ApiProperty({ type: 'integer', required: false }) httpStatus?: number;
  @ApiProperty({ type: 'string', required: false }) error?: string;
}

@ApiSchema({ name: 'SendLookupCandidate' })
class LookupCandidateDto implements LookupCandidate {
  @ApiProperty({ example: 'c_8' }) contactId!: string;
  @ApiProperty({ example: 'm_1042' }) messageId!: string;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description: 'The timestamp of the message, by the clock of the messaging service.',
  })
  sentAt!: string | null;
  @ApiProperty({
    description:
      'Why the look-up (search for the message of the send) did not record the message `messageId` as the message of the send.',
    example: 'Other messages fit this send equally well.',
  })
  reason!: string;
  @ApiProperty({
    type: 'string',
    nullable: true,
    description:
      'Id of the send to which the message `messageId` belongs, or null if the message belongs to no send.',
  })
  sendId!: string | null;
}

@ApiSchema({ name: 'SendLookup' })
class SendLookupDto implements SendLookup {
  @ApiProperty({ format: 'date-time' }) at!: string;
  @ApiProperty({
    enum: LOOKUP_OUTCOMES,
    description:
      'Outcome of the look-up (search for the message of the send). `found`: a message was recorded as the message of the send. `ambiguous`: several messages match the send equally well, so no message was recorded as the message of the send. `not_found`: no message matches the send. `incomplete`: some messages could not be read, and none of the messages that were read matches the send. `failed`: the look-up could not read the messages of the recipient.',
  })
  outcome!: SendLookup['outcome'];
  @ApiProperty({
    format: 'date-time',
    description: 'A message that was sent before this time cannot be the message of the send.',
  })
  since!: string;
  @ApiProperty({
    type: [String],
    description:
      'Contacts whose messages the look-up read, or tried to read, to find the message of the send, at most 20.',
  })
  contactIds!: string[];
  @ApiProperty({
    type: 'integer',
    description:
      'Number of messages that the look-up read from the messaging service to find the message of the send. A message that was on two of the pages counts twice.',
  })
  messagesRead!: number;
  @ApiProperty({
    type: [LookupCandidateDto],
    description: 'At most 5 messages that have the text of the send, but were not recorded as its message.',
  })
  candidates!: LookupCandidateDto[];
  @ApiProperty({
    type: 'string',
    nullable: true,
    description:
      'Why the look-up (search for the message of the send) failed. Null if the look-up did not fail.',
  })
  error!: string | null;
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
    description:
      'Reason why the send failed, expired or is `unknown`, or why Tidings looks for its message. Otherwise null.',
  })
  reason!: string | null;
  @ApiProperty({
    type: [SendLookupDto],
    required: false,
    description:
      'Look-ups of the send among the messages of the recipient. The list has at most 20 look-ups, oldest first: the first look-up and the latest 19 look-ups. A poll that found the message of the send is listed as a look-up only if Tidings did not yet know whether the messaging service had accepted the send. Sends in events and timelines do not have the field `lookups`.',
  })
  lookups?: SendLookupDto[];
}
