import { Module } from '@nestjs/common';
import { ApiKeyUseRecorder } from './api-key-use-recorder.js';
import { CallerLifetimes } from './caller-lifetimes.js';
import { ContactAccess } from './contact-access.js';
import { RevocationWatch } from './revocation-watch.js';
import { SharedChecks } from './shared-checks.js';

/** Checks of callers that handlers use in addition to the checks in `authentication.ts`. */
@Module({
  providers: [ApiKeyUseRecorder, CallerLifetimes, ContactAccess, RevocationWatch, SharedChecks],
  exports: [ApiKeyUseRecorder, CallerLifetimes, ContactAccess, SharedChecks],
})
export class AuthModule {}
