import { ApiProperty } from '@nestjs/swagger';
import { type Readiness, REASON_CODES, type ReasonCode, type ReasonDetail } from '#platform';
import type { AccountReason } from './account-reasons.js';

class ReasonDetailView implements ReasonDetail {
  @ApiProperty({ enum: REASON_CODES, example: 'no_worker' }) code!: ReasonCode;
  @ApiProperty({ type: 'integer', description: 'Of what it is about, such as accounts.', example: 1 })
  count!: number;

  @ApiProperty({ example: 'start a worker with the same REDIS_URL and REDIS_KEY_PREFIX' }) remedy!: string;
}

export class ReadyView implements Readiness {
  @ApiProperty({ enum: ['ok', 'degraded', 'unavailable'] }) status!: Readiness['status'];
  @ApiProperty({
    type: [String],
    description: 'What is wrong and what to do, in words. No account is named.',
    example: [
      'no worker was seen in the last 15 seconds; start a worker with the same REDIS_URL and REDIS_KEY_PREFIX',
    ],
  })
  reasons!: string[];

  @ApiProperty({ type: [ReasonDetailView], description: 'The same for programs, in the same order.' })
  details!: ReasonDetailView[];
}

class AccountReasonView implements AccountReason {
  @ApiProperty({ example: 'default' }) account!: string;
  @ApiProperty({ enum: REASON_CODES, example: 'upstream_down' }) code!: ReasonCode;
  @ApiProperty({ type: String, example: '2026-11-22T10:00:00.000Z' }) since!: string;
  @ApiProperty({ example: 'upstream answered 503' }) reason!: string;
}

/** For those who have a key. */
export class FullReadyView extends ReadyView {
  @ApiProperty({
    type: [AccountReasonView],
    description:
      'What is wrong with which account: at most 100. Only an admin of the account `default` sees others than its own.',
  })
  accounts!: AccountReasonView[];
}
