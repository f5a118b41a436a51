import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Optional, WholeNumberText } from '../input/rules.js';

export class PageQuery {
  @ApiProperty({ default: 1 })
  @Optional()
  @WholeNumberText(1, 1_000_000_000)
  page: string = '1';

  @ApiProperty({ default: 20 })
  @Optional()
  @WholeNumberText(1, 100)
  limit: string = '20';
}

/**
 * Query of an operation without documented parameters. `GET /v1/contacts` passes other parameters on to the messaging
 * service; `GET /v1/contacts/{id}` rejects them.
 */
@ApiSchema({ description: 'This operation has no documented query parameters.' })
export class NoQuery {}

export const AGE = {
  Age: {
    description:
      'Age of the data in the response, in seconds. The header `Age` is absent if Tidings read the data from the messaging service for this request.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
};
