import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { isEventTypePattern } from '#events';
import {
  type Endpoint,
  type EndpointHealth,
  contactFilterSizeInBytes,
  describeInvalidHeaders,
  MAX_CONTACT_FILTER_BYTES_PER_ENDPOINT,
  MAX_CUSTOM_HEADERS,
} from '#webhooks';
import {
  Clearable,
  Flag,
  ListOf,
  NumberOf,
  Optional,
  rule,
  ruleWithFault,
  TextOf,
  WebAddress,
  WholeNumber,
} from '../input/rules.js';

const TEXTS = { type: 'object', additionalProperties: { type: 'string' } } as const;

const Url = (): PropertyDecorator =>
  applyDecorators(WebAddress(), ApiProperty({ example: 'https://example.com/tidings' }));
const EventTypes = (): PropertyDecorator =>
  applyDecorators(
    ListOf('event types or patterns such as message.*', 50, { holds: isEventTypePattern }),
    ApiProperty({ example: ['message.*'] }),
  );
const ContactIds = (): PropertyDecorator =>
  applyDecorators(
    ListOf('contact ids', 1000, { maxLength: 512 }),
    rule(
      'bytes',
      `must have at most ${MAX_CONTACT_FILTER_BYTES_PER_ENDPOINT} bytes in total; list fewer ids, or use null and filter in your own service`,
      (value) =>
        !Array.isArray(value) ||
        contactFilterSizeInBytes(value.filter((id) => typeof id === 'string')) <=
          MAX_CONTACT_FILTER_BYTES_PER_ENDPOINT,
    ),
  );
const Description = (): PropertyDecorator =>
  applyDecorators(TextOf(500), ApiProperty({ example: 'Order service' }));
const Headers = (): PropertyDecorator =>
  applyDecorators(
    ruleWithFault('headers', describeInvalidHeaders),
    ApiProperty({ ...TEXTS, maxProperties: MAX_CUSTOM_HEADERS, example: { Authorization: 'Bearer abc' } }),
  );
const MaxConcurrency = (): PropertyDecorator => WholeNumber(1, 1_000);
const RateLimit = (): PropertyDecorator => NumberOf(0.01, 10_000);

const FORBIDDEN_HEADERS =
  'These HTTP headers are not allowed: `webhook-*`, `content-*`, `proxy-*`, `host`, `user-agent`, `expect`, `traceparent`, and connection headers such as `keep-alive`.';
const DESCRIPTIONS = {
  url: 'URL to which Tidings sends events with POST.',
  headers: `HTTP headers to add to every request to the webhook. ${FORBIDDEN_HEADERS}`,
  maxConcurrency: 'Maximum number of simultaneous requests to the webhook, over all workers.',
  rateLimitPerSecond:
    'Maximum number of requests per second to the webhook on average, over all workers. After a time without requests, Tidings may send the requests of one second at once.',
  ordered:
    'True if the events of each contact are delivered one at a time, in the order of `sequence`. ' +
    'An ordered webhook gets the next event of a contact only after the previous delivery has succeeded or permanently failed. Events without a contact are also delivered one at a time, in the same way as the events of one contact.',
};

/** Request to create a webhook. */
@ApiSchema({ name: 'NewWebhook' })
export class CreateWebhookDto {
  @ApiProperty({ description: DESCRIPTIONS.url })
  @Url()
  url!: string;

  @ApiProperty({
    description: 'Event types to deliver. By default, all event types are delivered.',
  })
  @Optional()
  @EventTypes()
  eventTypes?: string[];

  @ApiProperty({
    description:
      'Ids of contacts: only `message.*` and `contact.*` events of these contacts are delivered. By default, all events are delivered.',
  })
  @Optional()
  @ContactIds()
  contactIds?: string[];

  @Optional()
  @Description()
  description?: string;

  @ApiProperty({ description: DESCRIPTIONS.headers })
  @Optional()
  @Headers()
  headers?: Record<string, string>;

  @ApiProperty({
    description: `${DESCRIPTIONS.maxConcurrency} The default is \`WEBHOOK_MAX_CONCURRENCY\`.`,
  })
  @Optional()
  @MaxConcurrency()
  maxConcurrency?: number;

  @ApiProperty({
    description: `${DESCRIPTIONS.rateLimitPerSecond} By default, there is no limit.`,
  })
  @Optional()
  @RateLimit()
  rateLimitPerSecond?: number;

  @ApiProperty({ default: false, description: DESCRIPTIONS.ordered })
  @Optional()
  @Flag()
  ordered: boolean = false;

  @ApiProperty({ default: true, description: 'True if events are delivered to the webhook.' })
  @Optional()
  @Flag()
  enabled: boolean = true;
}

/** Request to update a webhook. Fields that are not given stay unchanged. */
@ApiSchema({ name: 'WebhookChanges' })
export class ChangeWebhookDto {
  @ApiProperty({ description: DESCRIPTIONS.url })
  @Optional()
  @Url()
  url?: string;

  @ApiProperty({
    description: 'Event types to deliver, or null for all event types.',
  })
  @Clearable()
  @EventTypes()
  eventTypes?: string[] | null;

  @ApiProperty({
    description:
      'Ids of contacts: only `message.*` and `contact.*` events of these contacts are delivered. Null to deliver all events.',
  })
  @Clearable()
  @ContactIds()
  contactIds?: string[] | null;

  @Clearable()
  @Description()
  description?: string | null;

  @ApiProperty({
    description: `${DESCRIPTIONS.headers} The given headers replace all existing headers. Null removes all headers.`,
  })
  @Clearable()
  @Headers()
  headers?: Record<string, string> | null;

  @ApiProperty({
    description: `${DESCRIPTIONS.maxConcurrency} Null sets the limit to \`WEBHOOK_MAX_CONCURRENCY\`.`,
  })
  @Clearable()
  @MaxConcurrency()
  maxConcurrency?: number | null;

  @ApiProperty({
    description: `${DESCRIPTIONS.rateLimitPerSecond} Null removes the limit.`,
  })
  @Clearable()
  @RateLimit()
  rateLimitPerSecond?: number | null;

  @ApiProperty({ description: DESCRIPTIONS.ordered })
  @Optional()
  @Flag()
  ordered?: boolean;

  @ApiProperty({
    description:
      'Set `enabled` to true to resume the delivery of new events; missed events can then be replayed. For a webhook that is enabled, a request with this field alone ends a pause (`pausedUntil`). Set `enabled` to false to stop deliveries. When a webhook is disabled, its pending deliveries end with the status `failed`, and the events of its pending deliveries count as missed.',
  })
  @Optional()
  @Flag()
  enabled?: boolean;
}

/** Documents an {@link Endpoint} with its {@link EndpointHealth}. */
@ApiSchema({ name: 'Webhook' })
export class WebhookView implements Endpoint, EndpointHealth {
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
  @ApiProperty({
    type: 'string',
    nullable: true,
    description: 'Reason why Tidings disabled the webhook, or null if Tidings did not disable it.',
  })
  disabledReason!: string | null;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty({ format: 'date-time' }) updatedAt!: string;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Time of the first failed attempt to deliver to the webhook after the last successful delivery. Null if the last attempt to deliver to the webhook did not fail, or if no attempt was made since the webhook was created, enabled or disabled, or got another URL.',
  })
  failingSince!: string | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Time when a delivery to the webhook last succeeded. Null if no delivery to the webhook has succeeded, or if the time of the last success is not known.',
  })
  lastSuccessAt!: string | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'No attempt begins before this time, because the receiver requested a pause with status 429 and `Retry-After`, or is overloaded. A `PATCH` with only `"enabled": true` ends the pause. Null if the webhook is not paused.',
  })
  pausedUntil!: string | null;
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    nullable: true,
    description:
      'Time since which events wait in the event log because the webhook has too many pending deliveries. The webhook misses events that are deleted from the event log before their deliveries are created. Null if no event waits.',
  })
  waitingSince!: string | null;
  @ApiProperty({ type: 'integer', minimum: 0, description: 'Number of pending deliveries.' })
  pending!: number;
}

@ApiSchema({ name: 'CreatedWebhook' })
export class CreatedWebhookView extends WebhookView {
  @ApiProperty({
    example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
    description: 'Signing secret, with which you verify the signature of each delivery.',
  })
  secret!: string;
}

@ApiSchema({ name: 'WebhookList' })
export class WebhooksReply {
  @ApiProperty({ type: [WebhookView] }) webhooks!: WebhookView[];
}
