import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { type Readiness, READINESS_REASON_CODES, type ReasonCode, type ReasonDetail } from '#platform';
import type { AccountReason } from './account-reasons.js';

@ApiSchema({ name: 'ReadinessReason' })
class ReasonDetailView implements ReasonDetail {
  @ApiProperty({ enum: READINESS_REASON_CODES, example: 'no_worker' }) code!: ReasonCode;
  @ApiProperty({
    type: 'integer',
    description: 'Number of accounts, processes, versions or other objects that the fault concerns.',
    example: 1,
  })
  count!: number;

  @ApiProperty({ example: 'start a worker with the same REDIS_URL and REDIS_KEY_PREFIX' }) remedy!: string;
}

@ApiSchema({ name: 'Readiness' })
export class ReadyView implements Readiness {
  @ApiProperty({ enum: ['ok', 'degraded', 'unavailable'] }) status!: Readiness['status'];
  @ApiProperty({
    type: [String],
    description:
      'One text for each fault of the installation: what is wrong, and the remedy. The texts in `reasons` say how many accounts are affected, but not which accounts. `GET /v1/status` shows the ids of the affected accounts.',
    example: [
      'no worker has sent a heartbeat in the last 9 seconds; start a worker with the same REDIS_URL and REDIS_KEY_PREFIX',
    ],
  })
  reasons!: string[];

  @ApiProperty({
    type: [ReasonDetailView],
    description: 'The faults in machine-readable form, in the order of `reasons`.',
  })
  details!: ReasonDetailView[];
}

@ApiSchema({ name: 'AccountReason' })
class AccountReasonView implements AccountReason {
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiProperty({ enum: READINESS_REASON_CODES, example: 'upstream_down' }) code!: ReasonCode;
  @ApiProperty({ type: String, example: '2026-11-22T10:00:00.000Z' }) since!: string;
  @ApiProperty({ example: 'upstream answered 503' }) reason!: string;
}

/** Readiness for callers with an API key. */
@ApiSchema({ name: 'FullReadiness' })
export class FullReadyView extends ReadyView {
  @ApiProperty({
    type: [AccountReasonView],
    description:
      'Faults of individual accounts, at most 100. Every caller sees the faults of its own account. A caller with an API key of the account `default` that has the scope `admin` sees the faults of all accounts.',
  })
  accounts!: AccountReasonView[];
}
