import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { CONSOLE_HEADER } from '../auth/console-cookie.js';
import { isSameOrigin } from '../auth/same-origin.js';
import { Problem } from '../problems/problem.js';

const DETAIL =
  'Only pages of the gateway itself may use this endpoint, and they must send the header X-Tidings-Console. A proxy in front of the gateway must pass on the Host header.';

/** Admits requests of the web console only. Another page can neither sign a browser in nor out. */
@Injectable()
export class ConsoleGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    if (headers[CONSOLE_HEADER] !== undefined && isSameOrigin(headers)) return true;
    throw new Problem('forbidden', DETAIL);
  }
}
