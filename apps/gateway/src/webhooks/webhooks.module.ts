import { Module } from '@nestjs/common';
import { DeliveriesController } from './deliveries.controller.js';
import { WebhookDeliveriesController } from './webhook-deliveries.controller.js';
import { WebhookSecretsController } from './webhook-secrets.controller.js';
import { WebhookTestsController } from './webhook-tests.controller.js';
import { WebhooksController } from './webhooks.controller.js';

@Module({
  controllers: [
    WebhooksController,
    WebhookSecretsController,
    WebhookTestsController,
    WebhookDeliveriesController,
    DeliveriesController,
  ],
})
export class WebhooksModule {}
