import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  type CompletedPart,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { callS3WithTimeout } from './s3-call.js';

/**
 * Size in bytes of every part of an upload except the last. S3 accepts no smaller parts. Larger parts would need more
 * memory, because an upload holds one part in memory.
 */
const PART_BYTES = 5 * 1024 * 1024;

/**
 * Uploads content of unknown length to S3. S3 requires the length of each request in advance, so the content
 * is sent in parts of five megabytes. Content of up to five megabytes is sent in one request.
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
      // A full buffer is sent only when more content follows, so that the last part, which `end` sends, is not empty.
      if (this.filled === PART_BYTES) await this.sendPart();
      const copied = chunk.copy(this.buffer, this.filled, at);
      this.filled += copied;
      at += copied;
    }
  }

  /**
   * Sends the rest of the content and completes the upload. When the promise resolves, the object is stored
   * completely.
   */
  async end(): Promise<void> {
    if (this.uploadId === undefined) {
      const whole = new PutObjectCommand({
        ...this.object,
        Body: this.content(),
        // Without this length, the SDK would treat an empty body as a body of unknown length.
        ContentLength: this.filled,
      });
      await callS3WithTimeout(this.callMs, (signal) => this.client.send(whole, { abortSignal: signal }));
      return;
    }
    await this.sendPart();
    const completion = new CompleteMultipartUploadCommand({
      ...this.object,
      UploadId: this.uploadId,
      MultipartUpload: { Parts: this.parts },
    });
    await callS3WithTimeout(this.callMs, (signal) => this.client.send(completion, { abortSignal: signal }));
  }

  /**
   * Aborts the upload, so that the S3 server removes the parts. If the abort fails, the parts stay until a lifecycle
   * rule of the bucket removes them.
   */
  async abort(): Promise<void> {
    if (this.uploadId === undefined) return;
    const abortion = new AbortMultipartUploadCommand({ ...this.object, UploadId: this.uploadId });
    await callS3WithTimeout(this.callMs, (signal) =>
      this.client.send(abortion, { abortSignal: signal }),
    ).catch(
      // Errors of the abort are ignored, because the caller reports the error that caused the abort.
      () => undefined,
    );
  }

  private async sendPart(): Promise<void> {
    const PartNumber = this.parts.length + 1;
    const { ETag } = await callS3WithTimeout(this.callMs, async (signal) => {
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
    if (UploadId === undefined) throw new Error('the S3 server returned no upload id');
    return UploadId;
  }

  private content(): Buffer {
    return this.buffer.subarray(0, this.filled);
  }
}
