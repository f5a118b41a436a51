import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ConsoleGuard } from './console.guard.js';
import { ConsoleSessionsController } from './console-sessions.controller.js';
import { SignInLimit } from './sign-in-limit.js';

@Module({
  imports: [AuthModule],
  controllers: [ConsoleSessionsController],
  providers: [ConsoleGuard, { provide: SignInLimit, useFactory: () => new SignInLimit() }],
})
export class ConsoleSessionsModule {}
