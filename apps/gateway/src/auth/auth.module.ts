import { Module } from '@nestjs/common';
import { ApiKeyUseRecorder } from './api-key-use-recorder.js';
import { CallerLifetimes } from './caller-lifetimes.js';
import { ContactAccess } from './contact-access.js';
import { RevocationWatch } from './revocation-watch.js';
import { SharedChecks } from './shared-checks.js';

/** What handlers need to check their callers further than `authentication.ts` does. */
@Module({
  providers: [ApiKeyUseRecorder, CallerLifetimes, ContactAccess, RevocationWatch, SharedChecks],
  exports: [ApiKeyUseRecorder, CallerLifetimes, ContactAccess, SharedChecks],
})
export class AuthModule {}
