import { type Cursor, CursorExpiredError, type EventPage, formatCursor, type LogFollower } from '#events';
import { pause } from '#platform';
import { isStoreFault } from '../problems/store-fault.js';
import { restAfterEmptyPage } from './empty-stretch.js';
import type { SseConnection } from './sse-connection.js';
import { commentFrame, cursorFrame, eventFrame, retryFrame } from './sse-frames.js';
import type { WaitSettings } from './wait-settings.js';

/** Characters that are written before the client's room is looked at again. */
const WRITE_AT_ONCE = 65_536;

/** While events come in a row the log is read no more often than this, in milliseconds: hundreds may listen. */
const READ_AGAIN_MS = 50;

/** Clients that were cut off together come back spread over this time, in milliseconds. */
const RETRY_MS = { least: 1_000, most: 3_000 };

/** What one stream reads. */
export interface StreamSource {
  /** The page after a cursor. @throws {CursorExpiredError} */
  read(after: Cursor): Promise<EventPage>;
  follower: LogFollower;
  /** Whether the caller may still hear this. */
  allowed(): Promise<boolean>;
}

/** Tells one client of one account's events as they come, until somebody ends it. */
export class EventStream {
  /** The id that the client has last been told. */
  private told = '';
  private spokeAt = 0;
  private checkedAt = performance.now();
  private readAt = 0;
  private readMs = 0;

  constructor(
    private readonly source: StreamSource,
    private readonly connection: SseConnection,
    private readonly settings: Pick<WaitSettings, 'lookMs' | 'commentMs'>,
    /** Where it begins. */
    private cursor: Cursor,
  ) {}

  /**
   * Resolves when `stop` aborts, the key is no longer good, or the cursor has expired: the client that comes back is
   * then answered 401, 403 or 410.
   *
   * While Redis is away the comments go on, and the events when it is back. Ending the stream would help nobody: the
   * client that comes back would be answered 503, after which a browser's EventSource never tries again.
   * @param first what follows the beginning
   */
  async run(first: EventPage, stop: AbortSignal): Promise<void> {
    // With the cursor at once: who is cut off before the first event goes on from here, and not from a later "now".
    await this.say(commentFrame('open') + retryFrame(retryMs()) + this.progress());
    for (let page: Page = first; page !== 'expired'; page = await this.next()) {
      if (page !== 'away') await this.tell(page);
      if (page === 'away' || !page.hasMore) await this.wait(stop);
      else if (page.events.length === 0) await restAfterEmptyPage(this.readMs, stop);
      if (stop.aborted || !(await this.pulse())) break;
    }
    const progress = this.progress();
    if (progress !== '') await this.say(progress);
  }

  /** Until something may have come: at once for the first event after a while, together for those that come in a row. */
  private async wait(stop: AbortSignal): Promise<void> {
    await this.source.follower.grown(this.restMs(), stop);
    const early = this.readAt + READ_AGAIN_MS - performance.now();
    if (early > 0) await pause(early, stop);
  }

  private async next(): Promise<Page> {
    this.readAt = performance.now();
    try {
      return await this.source.read(this.cursor);
    } catch (error) {
      if (error instanceof CursorExpiredError) return 'expired';
      if (isStoreFault(error)) return 'away';
      throw error;
    } finally {
      this.readMs = performance.now() - this.readAt;
    }
  }

  private async tell({ events, next }: EventPage): Promise<void> {
    let text = '';
    for (const event of events) {
      text += eventFrame(next.epoch, event);
      if (text.length < WRITE_AT_ONCE) continue;
      await this.say(text);
      text = '';
    }
    if (text !== '') await this.say(text);
    const last = events.at(-1);
    if (last !== undefined) this.told = formatCursor({ epoch: next.epoch, position: last.position });
    this.cursor = next;
  }

  /** Looks after the client and its key, when it is time; whether the stream goes on. */
  private async pulse(): Promise<boolean> {
    const now = performance.now();
    if (now - this.checkedAt >= this.settings.commentMs) {
      this.checkedAt = now;
      if (!(await this.isAllowed())) return false;
    }
    if (this.silentMs() >= this.settings.commentMs) await this.say(commentFrame('') + this.progress());
    return true;
  }

  private async isAllowed(): Promise<boolean> {
    try {
      return await this.source.allowed();
    } catch (error) {
      // Nobody can tell at the moment; nor are there events to tell.
      if (isStoreFault(error)) return true;
      throw error;
    }
  }

  /**
   * The cursor, where it has moved on past events that the client does not want: else it would come back with an old
   * one, and have all of them passed over again, or find it expired.
   */
  private progress(): string {
    const id = formatCursor(this.cursor);
    if (id === this.told) return '';
    this.told = id;
    return cursorFrame(this.cursor);
  }

  private async say(text: string): Promise<void> {
    await this.connection.write(text);
    this.spokeAt = performance.now();
  }

  private silentMs(): number {
    return performance.now() - this.spokeAt;
  }

  /** How long to wait for a hint. */
  private restMs(): number {
    const { lookMs, commentMs } = this.settings;
    return Math.min(lookMs, Math.max(0, Math.ceil(commentMs - this.silentMs())));
  }
}

/** A page; or Redis cannot be read at the moment; or the cursor is no longer good. */
type Page = EventPage | 'away' | 'expired';

function retryMs(): number {
  return RETRY_MS.least + Math.floor(Math.random() * (RETRY_MS.most - RETRY_MS.least));
}
