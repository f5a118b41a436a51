import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { AUDITED, AuditInterceptor } from './audit.interceptor.js';
import type { AuditedAction } from './audited-action.js';

/**
 * Declares the action of a handler. The audit log records the action when the handler succeeds. Other handlers run
 * without the interceptor, which would slow down each request.
 */
export const Audited = (action: AuditedAction): MethodDecorator =>
  applyDecorators(SetMetadata(AUDITED, action), UseInterceptors(AuditInterceptor));
