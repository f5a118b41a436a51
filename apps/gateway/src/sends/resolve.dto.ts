import { ApiProperty } from '@nestjs/swagger';
import { RESOLVE_OUTCOMES, type ResolveOutcome, type Send } from '#relay';
import { rule } from '../input/rules.js';
import { SendView } from './send.view.js';

const MOST_IDS = 100;

const OUTCOME =
  'sent and failed settle an unknown send. resend sends an unknown or failed one out again: it is looked for once ' +
  'more first, and then two texts are possible.';

export class ResolveDto {
  @ApiProperty({ enum: RESOLVE_OUTCOMES, description: OUTCOME })
  @rule('outcome', `must be one of ${RESOLVE_OUTCOMES.join(', ')}`, (value) =>
    RESOLVE_OUTCOMES.some((outcome) => outcome === value),
  )
  outcome!: ResolveOutcome;
}

export class ResolveManyDto extends ResolveDto {
  @ApiProperty({ type: [String], minItems: 1, maxItems: MOST_IDS })
  @rule(
    'ids',
    `must be a list of 1 to ${MOST_IDS} ids of sends`,
    (value) =>
      Array.isArray(value) &&
      value.length >= 1 &&
      value.length <= MOST_IDS &&
      value.every((id) => typeof id === 'string' && id.length >= 1 && id.length <= 100),
  )
  ids!: string[];
}

/** What became of one id. */
export class ResolveResult {
  @ApiProperty() id!: string;
  @ApiProperty() resolved!: boolean;
  @ApiProperty({ type: SendView, nullable: true, description: 'The send as it stands then.' })
  send!: Send | null;
  @ApiProperty({ enum: ['not_found', 'conflict'], type: String, nullable: true })
  code!: 'not_found' | 'conflict' | null;
  @ApiProperty({ type: String, nullable: true, description: 'Why it was not resolved.' })
  detail!: string | null;
}

export class ResolveManyReply {
  @ApiProperty({
    type: [ResolveResult],
    description: 'One for each id, in the order of the ids; an id that is given twice has one.',
  })
  results!: ResolveResult[];
}
