import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { ContactsController } from './contacts.controller.js';
import { UpstreamReads } from './upstream-reads.js';

@Module({ imports: [AuthModule], controllers: [ContactsController], providers: [UpstreamReads] })
export class ContactsModule {}
