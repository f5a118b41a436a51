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

/** Query without documented parameters. */
@ApiSchema({ description: 'No parameters.' })
export class NoQuery {}

export const AGE = {
  Age: {
    description:
      'Age of the data in seconds. The header is absent if this request caused a request to the messaging service.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
};
