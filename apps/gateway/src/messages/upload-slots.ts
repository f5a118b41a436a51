import { Injectable } from '@nestjs/common';
import { type CallerLimits, CallerSlots } from '../auth/caller-slots.js';

/**
 * Maximum numbers of simultaneous uploads. They limit the use of memory: an upload to an S3 bucket keeps up to 5 MB
 * in memory while a slow caller sends the rest.
 */
export const UPLOAD_LIMITS: CallerLimits = {
  max: 200,
  maxPerAccount: 200,
  maxPerAccountForTokens: 40,
  maxPerToken: 10,
};

/** The slots of sends whose form is being read. */
@Injectable()
export class UploadSlots extends CallerSlots {
  constructor() {
    super(UPLOAD_LIMITS);
  }
}
