import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { Rotation } from '#webhooks';
import { Optional, WholeNumber } from '../input/rules.js';

const LONGEST_OVERLAP_SECONDS = 2_592_000;

export class RotateSecretDto {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: LONGEST_OVERLAP_SECONDS,
    default: 86_400,
    description: 'How long the secrets so far still sign beside the new one. 0: they end at once.',
  })
  @Optional()
  @WholeNumber(0, LONGEST_OVERLAP_SECONDS)
  overlapSeconds: number = 86_400;
}

export class SecretView {
  @ApiProperty({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' }) secret!: string;
}

export class RotationView extends SecretView implements Rotation {
  @ApiProperty({
    format: 'date-time',
    description: 'Until when the secrets before it sign at the latest.',
  })
  previousExpireAt!: string;
}
