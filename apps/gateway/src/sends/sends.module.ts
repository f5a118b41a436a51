import { Module } from '@nestjs/common';
import { SendsController } from './sends.controller.js';

@Module({ controllers: [SendsController] })
export class SendsModule {}
