import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { AUDITED, AuditInterceptor } from './audit.interceptor.js';
import type { AuditedAction } from './audited-action.js';

/**
 * Declares the action of a handler. The audit log records it when the handler succeeds. Other handlers run without the
 * interceptor, which would take time of each request.
 */
export const Audited = (action: AuditedAction): MethodDecorator =>
  applyDecorators(SetMetadata(AUDITED, action), UseInterceptors(AuditInterceptor));
