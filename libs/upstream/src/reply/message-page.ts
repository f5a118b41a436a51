import { createHash } from 'node:crypto';
import type { MessagePage } from '../upstream.js';
import { type UpstreamMessage, parseMessage } from './message.js';
import { ReplyListReader } from './reply-list.js';

/**
 * Maximum size of a page that is parsed only after it has arrived completely, in bytes. If the page's digest then
 * shows that the page is unchanged, the page is not parsed.
 */
const MAX_KEPT_BYTES = 256 * 1024;

/**
 * Reads a page of messages from a reply that arrives in chunks. A page of at most {@link MAX_KEPT_BYTES} whose digest
 * the caller knows is not parsed.
 */
export class MessagePageReader {
  private readonly hash = createHash('sha1');
  private readonly list: ReplyListReader<UpstreamMessage>;
  private kept: Buffer[] | undefined;
  private keptBytes = 0;

  /** @param knownDigest digest of the page from an earlier read, if any */
  constructor(
    maxElements: number,
    private readonly knownDigest?: string,
  ) {
    this.list = new ReplyListReader('messages', parseMessage, maxElements);
    this.kept = knownDigest === undefined ? undefined : [];
  }

  /**
   * Reads the next chunk of the reply.
   * @throws {UpstreamReplyUnreadableError} if the chunk makes the reply invalid
   */
  push(chunk: Buffer): void {
    this.hash.update(chunk);
    if (this.kept === undefined) {
      this.list.push(chunk);
      return;
    }
    this.kept.push(chunk);
    this.keptBytes += chunk.length;
    if (this.keptBytes > MAX_KEPT_BYTES) this.parseKept();
  }

  /**
   * Ends the reading and returns the page.
   * @throws {UpstreamReplyUnreadableError} if the reply is not JSON or has no list of messages
   */
  end(): MessagePage {
    // The first bytes of the hash are enough, because digests are compared only between reads of one page.
    const digest = this.hash.digest().toString('base64', 0, DIGEST_BYTES);
    if (this.kept !== undefined && digest === this.knownDigest)
      return { items: [], skipped: 0, digest, isUnchanged: true };
    this.parseKept();
    return { ...this.list.end(), digest };
  }

  private parseKept(): void {
    const chunks = this.kept ?? [];
    this.kept = undefined;
    for (const chunk of chunks) this.list.push(chunk);
  }
}

/** Length of the digest of a page of messages, in bytes. It is short, because a digest is stored for each contact. */
const DIGEST_BYTES = 8;
