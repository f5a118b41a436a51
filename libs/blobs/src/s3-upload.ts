import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  type CompletedPart,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { withinDeadline } from './s3-call.js';

/** What S3 demands of every part but the last, in bytes; and all that an upload ever holds in memory. */
const PART_BYTES = 5 * 1024 * 1024;

/**
 * An upload of unknown length: S3 wants the length of whatever it is sent beforehand, so that it goes in parts of five
 * megabytes, or as one object if it is no larger.
 */
export class S3Upload {
  private readonly buffer = Buffer.allocUnsafe(PART_BYTES);
  private filled = 0;
  private uploadId: string | undefined;
  private readonly parts: CompletedPart[] = [];

  constructor(
    private readonly client: S3Client,
    private readonly object: { Bucket: string; Key: string },
    private readonly callMs: number,
  ) {}

  async write(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length;) {
      // Only when more comes: the last part is left to the end.
      if (this.filled === PART_BYTES) await this.sendPart();
      const copied = chunk.copy(this.buffer, this.filled, at);
      this.filled += copied;
      at += copied;
    }
  }

  /** The object is whole and in its place when this resolves. */
  async end(): Promise<void> {
    if (this.uploadId === undefined) {
      const whole = new PutObjectCommand({
        ...this.object,
        Body: this.content(),
        // Said, for the SDK takes an empty body for one whose length is not known.
        ContentLength: this.filled,
      });
      await withinDeadline(this.callMs, (signal) => this.client.send(whole, { abortSignal: signal }));
      return;
    }
    await this.sendPart();
    const completion = new CompleteMultipartUploadCommand({
      ...this.object,
      UploadId: this.uploadId,
      MultipartUpload: { Parts: this.parts },
    });
    await withinDeadline(this.callMs, (signal) => this.client.send(completion, { abortSignal: signal }));
  }

  /** Gives up what was sent. What a server keeps all the same, its bucket's lifecycle rule removes. */
  async abort(): Promise<void> {
    if (this.uploadId === undefined) return;
    const abortion = new AbortMultipartUploadCommand({ ...this.object, UploadId: this.uploadId });
    await withinDeadline(this.callMs, (signal) => this.client.send(abortion, { abortSignal: signal })).catch(
      // Why it is given up is what the caller is to hear.
      () => undefined,
    );
  }

  private async sendPart(): Promise<void> {
    const PartNumber = this.parts.length + 1;
    const { ETag } = await withinDeadline(this.callMs, async (signal) => {
      const UploadId = (this.uploadId ??= await this.begin(signal));
      const part = new UploadPartCommand({ ...this.object, UploadId, PartNumber, Body: this.content() });
      return await this.client.send(part, { abortSignal: signal });
    });
    this.parts.push({ PartNumber, ...(ETag === undefined ? {} : { ETag }) });
    this.filled = 0;
  }

  private async begin(signal: AbortSignal): Promise<string> {
    const beginning = new CreateMultipartUploadCommand(this.object);
    const { UploadId } = await this.client.send(beginning, { abortSignal: signal });
    if (UploadId === undefined) throw new Error('the server gave the upload no id');
    return UploadId;
  }

  private content(): Buffer {
    return this.buffer.subarray(0, this.filled);
  }
}
