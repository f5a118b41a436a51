import { Module } from '@nestjs/common';
import { EventReads } from './event-reads.js';
import { EventsController } from './events.controller.js';

@Module({ controllers: [EventsController], providers: [EventReads] })
export class EventsModule {}
