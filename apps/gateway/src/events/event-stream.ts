import {
  type Cursor,
  CursorExpiredError,
  type EventPage,
  formatCursor,
  type EventLogFollower,
} from '#events';
import { pause } from '#platform';
import { isStoreFault } from '../problems/store-fault.js';
import { pauseAfterEmptyPage } from './empty-page-pause.js';
import type { LiveQueue } from './live-changes.js';
import type { SseConnection } from './sse-connection.js';
import { commentFrame, cursorFrame, eventFrame, retryFrame } from './sse-frames.js';
import type { WaitSettings } from './wait-settings.js';

/** Size of a block of events, in characters. After each block the stream waits until the client can receive more. */
const MAX_WRITE_LENGTH = 65_536;

/** Wait before a failed read is repeated, in milliseconds. */
const RETRY_READ_MS = 1_000;

/** Bounds of the random reconnect delay, in milliseconds. It spreads clients that were disconnected together. */
const RETRY_MS = { min: 1_000, max: 3_000 };

/** Source of the events of one stream. */
export interface StreamSource {
  /** Reads the page after a cursor. @throws {CursorExpiredError} */
  read(after: Cursor): Promise<EventPage>;
  follower: EventLogFollower;
  /** Resolves to true if the caller's API key or token is still valid for this stream. */
  allowed(): Promise<boolean>;
  /** Changes of conversations and sends. Absent if the client did not ask for them. */
  changes?: Pick<LiveQueue, 'take' | 'isBroken'>;
}

/** Server-sent events of one account for one client. */
export class EventStream {
  /** The last id that was sent to the client, and when. */
  private sentId = '';
  private sentIdAt = 0;
  private lastWriteAt = 0;
  private checkedAt = performance.now();
  private readAt = 0;
  private readMs = 0;

  constructor(
    private readonly source: StreamSource,
    private readonly connection: SseConnection,
    private readonly settings: Pick<WaitSettings, 'commentMs'>,
    /** The stream begins after this cursor. */
    private cursor: Cursor,
  ) {}

  /**
   * Sends events until `stop` aborts, the API key or token becomes invalid, or the cursor expires. A client that
   * reconnects gets 401 or 403 if the API key or token is invalid, and 410 if the cursor has expired.
   *
   * While Redis is unavailable, the stream sends comments only. It does not end then: the client would reconnect and
   * get 503, after which an EventSource of a browser never reconnects.
   * @param first the first page after the cursor
   */
  async run(first: EventPage, stop: AbortSignal): Promise<void> {
    // Sends the cursor first, so that a client that is disconnected before the first event can resume here.
    await this.write(commentFrame('open') + retryFrame(retryMs()) + this.cursorUpdate());
    for (let page: Page = first; page !== 'expired'; page = await this.next()) {
      if (page !== 'unavailable' && !(await this.send(page))) break;
      await this.sendChanges();
      if (this.source.changes?.isBroken === true) break;
      if (page === 'unavailable') await pause(RETRY_READ_MS, stop);
      else if (!page.hasMore) await this.source.follower.waitForGrowth(this.waitMs(), stop);
      else if (page.events.length === 0) await pauseAfterEmptyPage(this.readMs, stop);
      if (stop.aborted || !(await this.keepAlive())) break;
    }
    const update = this.cursorUpdate();
    if (update !== '') await this.write(update);
  }

  private async next(): Promise<Page> {
    this.readAt = performance.now();
    try {
      return await this.source.read(this.cursor);
    } catch (error) {
      if (error instanceof CursorExpiredError) return 'expired';
      if (isStoreFault(error)) return 'unavailable';
      throw error;
    } finally {
      this.readMs = performance.now() - this.readAt;
    }
  }

  /** Sends a page of events. Resolves to false if the stream must end, because its API key or token became invalid. */
  private async send({ events, next }: EventPage): Promise<boolean> {
    let text = '';
    for (const event of events) {
      text += eventFrame(next.epoch, event);
      if (text.length < MAX_WRITE_LENGTH && event !== events.at(-1)) continue;
      await this.write(text);
      text = '';
      this.cursor = { epoch: next.epoch, position: event.position };
      this.noteSentId(formatCursor(this.cursor));
      // A client that reads slowly may take minutes for one page.
      if (!(await this.checkAccess())) return false;
    }
    this.cursor = next;
    return true;
  }

  private async sendChanges(): Promise<void> {
    const text = this.source.changes?.take() ?? '';
    if (text !== '') await this.write(text);
  }

  /**
   * Checks the API key or token. Sends a comment if nothing was sent for one interval, and sends a changed cursor
   * with a comment if no id was sent for one interval. Resolves to false if the stream must end.
   */
  private async keepAlive(): Promise<boolean> {
    if (!(await this.checkAccess())) return false;
    const { commentMs } = this.settings;
    const isSilent = this.silentMs() >= commentMs;
    // Frames of live changes have no id. If they follow each other closely, no comment is due, so the time since the
    // last id also counts.
    const update = isSilent || performance.now() - this.sentIdAt >= commentMs ? this.cursorUpdate() : '';
    // Never send the cursor without a comment: any write delays the next comment.
    if (isSilent || update !== '') await this.write(commentFrame('') + update);
    return true;
  }

  /** Checks the API key or token if the last check is one interval ago. Resolves to false if it is no longer valid. */
  private async checkAccess(): Promise<boolean> {
    const now = performance.now();
    if (now - this.checkedAt < this.settings.commentMs) return true;
    this.checkedAt = now;
    try {
      return await this.source.allowed();
    } catch (error) {
      // The key cannot be checked while Redis is unavailable. No events can be read meanwhile, so none can leak.
      if (isStoreFault(error)) return true;
      throw error;
    }
  }

  /**
   * Returns a frame with the cursor if the stream has passed events that the filter excludes, else an empty text. Without
   * this frame, a client would reconnect with an old cursor. The gateway would then read the excluded events again, or the
   * cursor might have expired.
   */
  private cursorUpdate(): string {
    const id = formatCursor(this.cursor);
    if (id === this.sentId) return '';
    this.noteSentId(id);
    return cursorFrame(this.cursor);
  }

  private noteSentId(id: string): void {
    this.sentId = id;
    this.sentIdAt = performance.now();
  }

  private async write(text: string): Promise<void> {
    await this.connection.write(text);
    this.lastWriteAt = performance.now();
  }

  private silentMs(): number {
    return performance.now() - this.lastWriteAt;
  }

  /** Returns the maximum time to wait for new events, in milliseconds: until the next comment or check of the API key. */
  private waitMs(): number {
    const uncheckedMs = performance.now() - this.checkedAt;
    return Math.max(0, Math.ceil(this.settings.commentMs - Math.max(this.silentMs(), uncheckedMs)));
  }
}

/** A page, or `unavailable` if Redis cannot be read, or `expired` if the cursor has expired. */
type Page = EventPage | 'unavailable' | 'expired';

function retryMs(): number {
  return RETRY_MS.min + Math.floor(Math.random() * (RETRY_MS.max - RETRY_MS.min));
}
