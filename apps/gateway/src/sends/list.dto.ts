import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { type Send, SEND_STATUSES, type SendFilter, type SendStatus } from '#relay';
import { decodePosition, encodePosition } from '../input/position.js';
import { CursorOf, OneOf, Optional, PhoneNumber, TextOf, WholeNumberText } from '../input/rules.js';
import { SendView } from './send.view.js';

export class SendsQuery {
  @Optional()
  @OneOf(SEND_STATUSES)
  status?: SendStatus;

  @ApiProperty({
    description: 'Returns only sends with this `reference`.',
  })
  @Optional()
  @TextOf(128)
  reference?: string;

  @ApiProperty({ example: '+14155550123' })
  @Optional()
  @PhoneNumber()
  phoneNumber?: string;

  @ApiProperty({ default: 20 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '20';

  @ApiProperty({ type: 'string', description: 'The value of `next` in the previous page.' })
  @Optional()
  @CursorOf('must be the value of `next` from a previous page', (value) => positionIn(value) !== undefined)
  cursor?: string;
}

/** Returns the filter of a query. */
export function filterOf({ status, reference, phoneNumber }: SendsQuery): SendFilter {
  return {
    ...(status === undefined ? {} : { status }),
    ...(reference === undefined ? {} : { reference }),
    ...(phoneNumber === undefined ? {} : { phoneNumber }),
  };
}

const LIST_NAME = 'sends';

/** Returns the cursor of a page that begins after a position in the list. */
export function cursorAt(position: number): string {
  return encodePosition(LIST_NAME, position);
}

/** Returns the position of a cursor of {@link cursorAt}, or undefined for any other value. */
export function positionIn(cursor: unknown): number | undefined {
  return decodePosition(LIST_NAME, cursor);
}

@ApiSchema({ name: 'SendList' })
export class SendsReply {
  @ApiProperty({
    type: [SendView],
    description:
      'The sends of the page, newest first. A page may have fewer sends than `limit`, or none, even if more pages follow.',
  })
  sends!: Send[];

  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Cursor of the next page, or null on the last page.',
  })
  next!: string | null;

  @ApiProperty({ description: 'True if another page follows.' }) hasMore!: boolean;
}
