import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { RESOLVE_OUTCOMES, type ResolveOutcome, type Send } from '#relay';
import { OneOf, rule } from '../input/rules.js';
import { SendView } from './send.view.js';

const MAX_IDS = 100;
const MAX_ID_LENGTH = 100;

const OUTCOME =
  '`sent` and `failed` set the status of a send that is `unknown`. `resend` sends the message of an `unknown` or ' +
  '`failed` send again. Before a resend, Tidings checks whether the messaging service already has the message. ' +
  'After a resend, the recipient may get the message twice.';

@ApiSchema({ name: 'SendResolution' })
export class ResolveDto {
  @ApiProperty({ description: OUTCOME })
  @OneOf(RESOLVE_OUTCOMES)
  outcome!: ResolveOutcome;
}

@ApiSchema({ name: 'SendsResolution' })
export class ResolveManyDto extends ResolveDto {
  @rule(
    'ids',
    `must be a list of 1 to ${MAX_IDS} send ids`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= MAX_IDS &&
      value.every((id) => typeof id === 'string' && id.length >= 1 && id.length <= MAX_ID_LENGTH),
    {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH },
      minItems: 1,
      maxItems: MAX_IDS,
    },
  )
  ids!: string[];
}

/** Result for one send. */
@ApiSchema({ name: 'ResolutionResult' })
export class ResolveResult {
  @ApiProperty() id!: string;
  @ApiProperty() resolved!: boolean;
  @ApiProperty({
    type: SendView,
    nullable: true,
    description: 'The send after it was resolved. Null if `resolved` is false.',
  })
  send!: Send | null;
  @ApiProperty({
    enum: ['not_found', 'conflict', 'unavailable'],
    type: String,
    nullable: true,
    description:
      'Null if the send was resolved. `not_found`: no send has this id. `conflict`: the current status of the send does not allow this outcome. `unavailable`: Redis did not answer, and the send may or may not have been resolved; repeat the request later with the ids whose result has this code.',
  })
  code!: 'not_found' | 'conflict' | 'unavailable' | null;
  @ApiProperty({
    type: String,
    nullable: true,
    description:
      'Why the send is not reported as resolved; with the code `unavailable`, it may have been resolved all the same. Null if `resolved` is true.',
  })
  detail!: string | null;
}

@ApiSchema({ name: 'ResolutionResults' })
export class ResolveManyReply {
  @ApiProperty({
    type: [ResolveResult],
    description:
      'One result per send id, in the order of the request. A send id that occurs several times in the request has only one result.',
  })
  results!: ResolveResult[];
}
