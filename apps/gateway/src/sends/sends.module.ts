import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { SendsController } from './sends.controller.js';
import { VisibleSends } from './visible-sends.js';

@Module({ imports: [AuthModule], controllers: [SendsController], providers: [VisibleSends] })
export class SendsModule {}
