import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { isEventTypePattern } from '#events';
import { type Endpoint, filterBytes, headersFault, MOST_FILTER_BYTES, MOST_HEADERS } from '#webhooks';
import {
  Clearable,
  Flag,
  ListOf,
  NumberOf,
  Optional,
  rule,
  ruleSaying,
  TextOf,
  WebAddress,
  WholeNumber,
} from '../input/rules.js';

const EventTypes = (): PropertyDecorator =>
  ListOf('event types or patterns such as message.*', 50, isEventTypePattern);
const ContactIds = (): PropertyDecorator =>
  applyDecorators(
    ListOf('ids of contacts', 1000, (id) => id.length >= 1 && id.length <= 512),
    rule(
      'bytes',
      `must take at most ${MOST_FILTER_BYTES} bytes together; name fewer, or leave it out and choose at the receiver`,
      (value) =>
        !Array.isArray(value) ||
        filterBytes(value.filter((id) => typeof id === 'string')) <= MOST_FILTER_BYTES,
    ),
  );
const Description = (): PropertyDecorator => TextOf(1, 500);
const Headers = (): PropertyDecorator => ruleSaying('headers', headersFault);
const MaxConcurrency = (): PropertyDecorator => WholeNumber(1, 1_000);
const RateLimit = (): PropertyDecorator => NumberOf(0.01, 10_000);

const TEXTS = { type: 'object', additionalProperties: { type: 'string' } } as const;
const LIST: [StringConstructor] = [String];
const DOCS = {
  url: { format: 'uri', example: 'https://example.com/tidings' },
  eventTypes: { type: LIST, example: ['message.*'] },
  contactIds: { type: LIST },
  description: { type: 'string', maxLength: 500, example: 'Order service' },
  headers: { ...TEXTS, maxProperties: MOST_HEADERS, example: { Authorization: 'Bearer abc' } },
  maxConcurrency: { type: 'integer', minimum: 1, maximum: 1_000 },
  rateLimitPerSecond: { type: 'number', minimum: 0.01, maximum: 10_000 },
} as const;
const NOT_THOSE = 'Never `webhook-*`, `content-*`, `host`, `user-agent`, or one of a single connection.';
const PACE = {
  headers: `Sent with every attempt. ${NOT_THOSE}`,
  maxConcurrency: 'Requests in flight to it, over all workers.',
  rateLimitPerSecond: 'Attempts a second, over all workers.',
  ordered:
    'One event at a time per contact, by `sequence`, the next only after the last succeeded or gave up.',
};

/** What a subscriber asks for. */
export class CreateWebhookDto {
  @ApiProperty(DOCS.url)
  @WebAddress()
  url!: string;

  @ApiPropertyOptional({ ...DOCS.eventTypes, description: 'Left out: all.' })
  @Optional()
  @EventTypes()
  eventTypes?: string[];

  @ApiPropertyOptional({ ...DOCS.contactIds, description: 'Only events of these contacts. Left out: all.' })
  @Optional()
  @ContactIds()
  contactIds?: string[];

  @ApiPropertyOptional(DOCS.description)
  @Optional()
  @Description()
  description?: string;

  @ApiPropertyOptional({ ...DOCS.headers, description: PACE.headers })
  @Optional()
  @Headers()
  headers?: Record<string, string>;

  @ApiPropertyOptional({
    ...DOCS.maxConcurrency,
    description: `${PACE.maxConcurrency} Left out: WEBHOOK_MAX_CONCURRENCY.`,
  })
  @Optional()
  @MaxConcurrency()
  maxConcurrency?: number;

  @ApiPropertyOptional({
    ...DOCS.rateLimitPerSecond,
    description: `${PACE.rateLimitPerSecond} Left out: no limit.`,
  })
  @Optional()
  @RateLimit()
  rateLimitPerSecond?: number;

  @ApiPropertyOptional({ default: false, description: PACE.ordered })
  @Optional()
  @Flag()
  ordered: boolean = false;

  @ApiPropertyOptional({ default: true, description: 'Whether events are delivered to it.' })
  @Optional()
  @Flag()
  enabled: boolean = true;
}

/** What is to be changed. */
export class ChangeWebhookDto {
  @ApiPropertyOptional(DOCS.url)
  @Optional()
  @WebAddress()
  url?: string;

  @ApiPropertyOptional({ ...DOCS.eventTypes, nullable: true, description: 'Null: all.' })
  @Clearable()
  @EventTypes()
  eventTypes?: string[] | null;

  @ApiPropertyOptional({ ...DOCS.contactIds, nullable: true, description: 'Null: events of all contacts.' })
  @Clearable()
  @ContactIds()
  contactIds?: string[] | null;

  @ApiPropertyOptional({ ...DOCS.description, nullable: true })
  @Clearable()
  @Description()
  description?: string | null;

  @ApiPropertyOptional({
    ...DOCS.headers,
    nullable: true,
    description: `${PACE.headers} They replace all of those before; null: none.`,
  })
  @Clearable()
  @Headers()
  headers?: Record<string, string> | null;

  @ApiPropertyOptional({
    ...DOCS.maxConcurrency,
    nullable: true,
    description: `${PACE.maxConcurrency} Null: WEBHOOK_MAX_CONCURRENCY.`,
  })
  @Clearable()
  @MaxConcurrency()
  maxConcurrency?: number | null;

  @ApiPropertyOptional({
    ...DOCS.rateLimitPerSecond,
    nullable: true,
    description: `${PACE.rateLimitPerSecond} Null: no limit.`,
  })
  @Clearable()
  @RateLimit()
  rateLimitPerSecond?: number | null;

  @ApiPropertyOptional({ description: PACE.ordered })
  @Optional()
  @Flag()
  ordered?: boolean;

  @ApiPropertyOptional({
    description:
      'True: events are delivered from now on, and what was missed can be replayed. False: what is pending ends as failed.',
  })
  @Optional()
  @Flag()
  enabled?: boolean;
}

/** Documents an {@link Endpoint}. */
export class WebhookView implements Endpoint {
  @ApiProperty({ example: 'whk_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) id!: string;
  @ApiProperty({ format: 'uri' }) url!: string;
  @ApiProperty({ type: [String], nullable: true }) eventTypes!: string[] | null;
  @ApiProperty({ type: [String], nullable: true }) contactIds!: string[] | null;
  @ApiProperty({ type: 'string', nullable: true }) description!: string | null;
  @ApiProperty(TEXTS) headers!: Record<string, string>;
  @ApiProperty({ type: 'integer', nullable: true }) maxConcurrency!: number | null;
  @ApiProperty({ type: 'number', nullable: true }) rateLimitPerSecond!: number | null;
  @ApiProperty() ordered!: boolean;
  @ApiProperty() enabled!: boolean;
  @ApiProperty({ type: 'string', nullable: true, description: 'Why Tidings disabled it, if it did.' })
  disabledReason!: string | null;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty({ format: 'date-time' }) updatedAt!: string;
}

export class CreatedWebhookView extends WebhookView {
  @ApiProperty({
    example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
    description: 'Verifies what it gets.',
  })
  secret!: string;
}

export class WebhooksReply {
  @ApiProperty({ type: [WebhookView] }) webhooks!: WebhookView[];
}
