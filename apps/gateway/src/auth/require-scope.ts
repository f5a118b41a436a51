import { SetMetadata } from '@nestjs/common';
import type { Scope } from '#accounts';

export const REQUIRED_SCOPE = 'tidings:scope';
export const PUBLIC = 'tidings:public';

/** The scope that a caller's key must have. A handler without it is closed to everyone. */
export const RequireScope = (scope: Scope): MethodDecorator => SetMetadata(REQUIRED_SCOPE, scope);

/** Needs no key. Counts for nothing under `/v1`. */
export const Public = (): ClassDecorator & MethodDecorator => SetMetadata(PUBLIC, true);
