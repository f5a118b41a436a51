import { Module } from '@nestjs/common';
import { ContactsController } from './contacts.controller.js';
import { UpstreamReads } from './upstream-reads.js';

@Module({ controllers: [ContactsController], providers: [UpstreamReads] })
export class ContactsModule {}
