import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { AccountsModule } from './accounts/accounts.module.js';
import { ApiKeysModule } from './api-keys/api-keys.module.js';
import { AuditModule } from './audit/audit.module.js';
import { CallerModule } from './caller/caller.module.js';
import { ConsoleSessionsModule } from './console-sessions/console-sessions.module.js';
import { ContactsModule } from './contacts/contacts.module.js';
import { ConversationsModule } from './conversations/conversations.module.js';
import { EventsModule } from './events/events.module.js';
import { HealthModule } from './health/health.module.js';
import { MessagesModule } from './messages/messages.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { ProblemFilter } from './problems/problem.filter.js';
import { SendsModule } from './sends/sends.module.js';
import { TokensModule } from './browser-tokens/tokens.module.js';
import { StatsModule } from './stats/stats.module.js';
import { StatusModule } from './status/status.module.js';
import { WebhooksModule } from './webhooks/webhooks.module.js';

/** Provides the tokens of `tokens.ts` to every module. */
@Module({})
class BindingsModule {
  static with(bindings: readonly Provider[]): DynamicModule {
    return {
      module: BindingsModule,
      global: true,
      providers: [...bindings],
      exports: bindings.map((binding) => (typeof binding === 'function' ? binding : binding.provide)),
    };
  }
}

/** The root module: one module per resource. Authentication runs before it, in `auth/authentication.ts`. */
@Module({})
export class GatewayModule {
  static register(bindings: readonly Provider[]): DynamicModule {
    return {
      module: GatewayModule,
      imports: [
        BindingsModule.with(bindings),
        MessagesModule,
        SendsModule,
        ContactsModule,
        ConversationsModule,
        EventsModule,
        WebhooksModule,
        AccountsModule,
        ApiKeysModule,
        TokensModule,
        CallerModule,
        AuditModule,
        ConsoleSessionsModule,
        StatusModule,
        StatsModule,
        HealthModule,
        MetricsModule,
      ],
      providers: [{ provide: APP_FILTER, useClass: ProblemFilter }],
    };
  }
}
