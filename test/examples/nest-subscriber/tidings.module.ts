// A NestJS module that receives the webhooks of Tidings: verifies each request, and hands its event to your service.
// The application must keep raw bodies: NestFactory.create(AppModule, { rawBody: true }).
import type { IncomingMessage } from 'node:http';
import {
  type CanActivate,
  Controller,
  type DynamicModule,
  type ExecutionContext,
  HttpCode,
  Inject,
  Injectable,
  Module,
  Post,
  type RawBodyRequest,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { type Event, verifyWebhook, WebhookVerificationError } from '@tidings/client';

/** What your service implements. An error makes Tidings deliver the event again, so ignore ids that were handled. */
export interface EventHandler {
  handle(event: Event): Promise<void>;
}

export interface TidingsOptions {
  /** Signing secret of the webhook; during a rotation, both. */
  secrets: string | readonly string[];
  handler: EventHandler;
}

const OPTIONS = Symbol('TidingsOptions');
type WebhookRequest = RawBodyRequest<IncomingMessage> & { event?: Event };

/** Lets only requests pass that Tidings signed, and parses their event. */
@Injectable()
export class SignatureGuard implements CanActivate {
  constructor(@Inject(OPTIONS) private readonly options: TidingsOptions) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<WebhookRequest>();
    // Fastify has the headers and the body of Node.js in `raw`.
    const headers = 'raw' in request ? (request.raw as IncomingMessage).headers : request.headers;
    try {
      request.event = await verifyWebhook(request.rawBody ?? '', headers, this.options.secrets);
      return true;
    } catch (error) {
      if (error instanceof WebhookVerificationError) throw new UnauthorizedException();
      throw error;
    }
  }
}

@Module({})
export class TidingsModule {
  /** @param path where the webhook is received, for example `hooks/tidings` */
  static receiveAt(path: string, options: TidingsOptions): DynamicModule {
    @Controller(path)
    class WebhookController {
      constructor(@Inject(OPTIONS) private readonly given: TidingsOptions) {}

      @Post()
      @UseGuards(SignatureGuard)
      @HttpCode(204)
      async receive(@Req() request: WebhookRequest): Promise<void> {
        if (request.event !== undefined) await this.given.handler.handle(request.event);
      }
    }
    return {
      module: TidingsModule,
      controllers: [WebhookController],
      providers: [SignatureGuard, { provide: OPTIONS, useValue: options }],
    };
  }
}
