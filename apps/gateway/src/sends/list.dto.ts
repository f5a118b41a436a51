import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Send, SEND_STATUSES, type SendFilter, type SendStatus } from '#relay';
import { formatPlace, parsePlace } from '../input/place.js';
import { Optional, PhoneNumber, rule, TextOf, WholeNumberText } from '../input/rules.js';
import { SendView } from './send.view.js';

export class SendsQuery {
  @ApiPropertyOptional({ enum: SEND_STATUSES })
  @Optional()
  @rule('status', `must be one of ${SEND_STATUSES.join(', ')}`, (value) =>
    SEND_STATUSES.some((status) => status === value),
  )
  status?: SendStatus;

  @ApiPropertyOptional({ type: 'string', maxLength: 128, description: "The caller's own id." })
  @Optional()
  @TextOf(1, 128)
  reference?: string;

  @ApiPropertyOptional({ type: 'string', example: '+14155550123' })
  @Optional()
  @PhoneNumber()
  phoneNumber?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '20';

  @ApiPropertyOptional({ type: 'string', description: 'The `next` of an earlier answer.' })
  @Optional()
  @rule('cursor', 'must be a cursor that an earlier answer gave', (value) => placeIn(value) !== undefined)
  cursor?: string;
}

/** What a query asks for. */
export function filterOf({ status, reference, phoneNumber }: SendsQuery): SendFilter {
  return {
    ...(status === undefined ? {} : { status }),
    ...(reference === undefined ? {} : { reference }),
    ...(phoneNumber === undefined ? {} : { phoneNumber }),
  };
}

const PLACES = 'sends';

/** Where a page begins, as callers see it. */
export function cursorAt(place: number): string {
  return formatPlace(PLACES, place);
}

/** The place of a text that {@link cursorAt} made, or undefined for anything else. */
export function placeIn(cursor: unknown): number | undefined {
  return parsePlace(PLACES, cursor);
}

export class SendsReply {
  @ApiProperty({
    type: [SendView],
    description: 'The newest first. A page may be short, or empty, although more follows.',
  })
  sends!: Send[];

  @ApiProperty({ type: 'string', nullable: true, description: 'Where to read on; null at the end.' })
  next!: string | null;

  @ApiProperty() hasMore!: boolean;
}
