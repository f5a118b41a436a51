import { Module } from '@nestjs/common';
import { WebhookSecretsController } from './webhook-secrets.controller.js';
import { WebhookTestsController } from './webhook-tests.controller.js';
import { WebhooksController } from './webhooks.controller.js';

@Module({ controllers: [WebhooksController, WebhookSecretsController, WebhookTestsController] })
export class WebhooksModule {}
