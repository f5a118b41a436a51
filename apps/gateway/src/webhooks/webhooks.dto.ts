import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { isEventTypePattern } from '#events';
import type { Endpoint } from '#webhooks';
import { Flag, ListOf, Optional, TextOf, WebAddress } from '../input/rules.js';

/** What a subscriber asks for. */
export class CreateWebhookDto {
  @ApiProperty({ format: 'uri', example: 'https://example.com/tidings' })
  @WebAddress()
  url!: string;

  @ApiPropertyOptional({ type: [String], example: ['message.*'], description: 'Left out: all.' })
  @Optional()
  @ListOf('event types or patterns such as message.*', 50, isEventTypePattern)
  eventTypes?: string[];

  @ApiPropertyOptional({ type: [String], description: 'Only events of these contacts. Left out: all.' })
  @Optional()
  @ListOf('ids of contacts', 1000, (id) => id.length >= 1 && id.length <= 512)
  contactIds?: string[];

  @ApiPropertyOptional({ maxLength: 500, example: 'Order service' })
  @Optional()
  @TextOf(1, 500)
  description?: string;

  @ApiPropertyOptional({ default: true, description: 'Whether events are delivered to it.' })
  @Optional()
  @Flag()
  enabled: boolean = true;
}

/** Documents an {@link Endpoint}. */
export class WebhookView implements Endpoint {
  @ApiProperty({ example: 'whk_0f3a5c7e9b1d2f4a6c8e0b2d4f6a8c0e' }) id!: string;
  @ApiProperty({ format: 'uri' }) url!: string;
  @ApiProperty({ type: [String], nullable: true }) eventTypes!: string[] | null;
  @ApiProperty({ type: [String], nullable: true }) contactIds!: string[] | null;
  @ApiProperty({ type: 'string', nullable: true }) description!: string | null;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } })
  headers!: Record<string, string>;
  @ApiProperty({ type: 'integer', nullable: true }) maxConcurrency!: number | null;
  @ApiProperty({ type: 'number', nullable: true }) rateLimitPerSecond!: number | null;
  @ApiProperty() ordered!: boolean;
  @ApiProperty() enabled!: boolean;
  @ApiProperty({ type: 'string', nullable: true }) disabledReason!: string | null;
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
