import { Inject, Injectable } from '@nestjs/common';
import { CallerSlots } from '../auth/caller-slots.js';
import { EVENT_WAITS } from '../tokens.js';
import type { WaitSettings } from './wait-settings.js';

/** The slots of long polls and event streams. */
@Injectable()
export class WaitingSlots extends CallerSlots {
  constructor(@Inject(EVENT_WAITS) settings: WaitSettings) {
    super(settings);
  }
}
