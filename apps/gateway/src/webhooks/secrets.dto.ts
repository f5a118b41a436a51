import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { SecretRotationResult } from '#webhooks';
import { Optional, WholeNumber } from '../input/rules.js';

const MAX_OVERLAP_SECONDS = 2_592_000;

@ApiSchema({ name: 'SecretRotation' })
export class RotateSecretDto {
  @ApiProperty({
    default: 86_400,
    description:
      'Maximum time for which the previous signing secrets stay valid, in seconds. With the value 0, the previous signing secrets become invalid immediately.',
  })
  @Optional()
  @WholeNumber(0, MAX_OVERLAP_SECONDS)
  overlapSeconds: number = 86_400;
}

@ApiSchema({ name: 'SigningSecret' })
export class SecretView {
  @ApiProperty({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' }) secret!: string;
}

@ApiSchema({ name: 'RotatedSecret' })
export class RotationView extends SecretView implements SecretRotationResult {
  @ApiProperty({
    format: 'date-time',
    description: 'Time after which no previous signing secret is valid.',
  })
  previousExpireAt!: string;
}
