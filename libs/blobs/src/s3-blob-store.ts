import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { newId } from '#platform';
import {
  BlobMissingError,
  blobIdPrefixOfAccount,
  type BlobStore,
  type BlobEntry,
  blobIdOfProcessMarker,
  PROCESS_MARKER_PREFIX,
  MAX_LISTED_PROCESS_MARKERS,
  type StoredBlob,
} from './blob-store.js';
import { CountedAndHashedContent } from './counted-and-hashed-content.js';
import { callS3WithTimeout } from './s3-call.js';
import { S3Upload } from './s3-upload.js';

/** Timeout for opening a connection to the S3 server, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000;
/** Timeout for a connection to the S3 server on which no data is sent or received, in milliseconds. */
const IDLE_TIMEOUT_MS = 60_000;
/**
 * Timeout of one call to the S3 server, in milliseconds. It is long enough to send five megabytes over a slow
 * connection.
 */
const CALL_TIMEOUT_MS = 20_000;

/** Where blobs are stored in S3: the bucket, and the prefix of the keys of all objects. */
export interface S3Location {
  bucket: string;
  prefix: string;
  /**
   * True if the URL of a request contains the bucket's name in its path instead of its host name. Most S3
   * servers other than Amazon's require this.
   */
  pathStyle: boolean;
}

/**
 * Stores blobs as objects in a bucket of Amazon S3 or of a compatible server. The AWS SDK reads the region,
 * credentials and endpoint from its own settings, for example its environment variables. An object becomes visible
 * only when it is complete.
 */
export class S3BlobStore implements BlobStore {
  private readonly client: S3Client;
  /**
   * Id of the test object that a check writes and deletes. All checks of this process use the same id, so that at
   * most one test object is left if objects cannot be deleted.
   */
  private readonly probeId = newId('blb');

  /** @param callMs timeout of one call to the S3 server, in milliseconds; an upload makes several calls */
  constructor(
    private readonly location: S3Location,
    private readonly callMs = CALL_TIMEOUT_MS,
  ) {
    this.client = new S3Client({
      forcePathStyle: location.pathStyle,
      // Some S3 servers other than Amazon's do not support the checksums that the AWS SDK adds by default. TLS and
      // the signature of each request protect the content without these checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, socketTimeout: IDLE_TIMEOUT_MS },
    });
  }

  /** Resolves to true if the AWS SDK finds a region, in `AWS_REGION` or in a profile. */
  async hasRegion(): Promise<boolean> {
    return await this.client.config.region().then(
      () => true,
      () => false,
    );
  }

  async put(account: string, content: Readable, limit: number): Promise<StoredBlob> {
    const measured = new CountedAndHashedContent(content, limit);
    const id = `${blobIdPrefixOfAccount(account)}${newId('blb')}`;
    const upload = new S3Upload(
      this.client,
      { Bucket: this.location.bucket, Key: this.key(id) },
      this.callMs,
    );
    try {
      for await (const chunk of measured) await upload.write(chunk);
      await upload.end();
    } catch (error) {
      await upload.abort();
      throw error;
    }
    return { id, ...measured.sizeAndHash() };
  }

  async open(id: string): Promise<Readable> {
    const object = { Bucket: this.location.bucket, Key: this.key(id) };
    const { Body } = await callS3WithTimeout(this.callMs, async (signal) => {
      try {
        return await this.client.send(new GetObjectCommand(object), { abortSignal: signal });
      } catch (error) {
        if (error instanceof NoSuchKey) throw new BlobMissingError(id);
        throw error;
      }
    });
    if (Body === undefined) throw new BlobMissingError(id);
    // In Node.js the body is always a `Readable`. The SDK declares a wider type, because the SDK also runs in
    // browsers.
    return Body as Readable;
  }

  async remove(id: string): Promise<void> {
    const object = { Bucket: this.location.bucket, Key: this.key(id) };
    await callS3WithTimeout(this.callMs, (signal) =>
      this.client.send(new DeleteObjectCommand(object), { abortSignal: signal }),
    );
  }

  list(account: string, after: string, count: number): Promise<BlobEntry[]> {
    return this.listUnder(blobIdPrefixOfAccount(account), after, count);
  }

  async writeMarker(name: string): Promise<void> {
    const mark = {
      Bucket: this.location.bucket,
      Key: this.key(blobIdOfProcessMarker(name)),
      Body: 'A mark.',
    };
    await callS3WithTimeout(this.callMs, (abortSignal) =>
      this.client.send(new PutObjectCommand(mark), { abortSignal }),
    );
  }

  async listMarkers(): Promise<BlobEntry[]> {
    const markers = await this.listUnder(PROCESS_MARKER_PREFIX, '', MAX_LISTED_PROCESS_MARKERS);
    return markers.map(({ id, storedAt }) => ({ id: id.slice(PROCESS_MARKER_PREFIX.length), storedAt }));
  }

  async removeMarker(name: string): Promise<void> {
    await this.remove(blobIdOfProcessMarker(name));
  }

  async check(): Promise<void> {
    const probe = { Bucket: this.location.bucket, Key: this.key(this.probeId) };
    await callS3WithTimeout(this.callMs, async (abortSignal) => {
      await this.client.send(new PutObjectCommand({ ...probe, Body: 'A probe.' }), { abortSignal });
      await this.client.send(new DeleteObjectCommand(probe), { abortSignal });
    });
  }

  /** Closes the connections to the S3 server, which stay open between calls. */
  close(): void {
    this.client.destroy();
  }

  private async listUnder(prefix: string, after: string, count: number): Promise<BlobEntry[]> {
    const page = await callS3WithTimeout(this.callMs, (signal) =>
      this.client.send(
        new ListObjectsV2Command({
          Bucket: this.location.bucket,
          Prefix: this.key(prefix),
          ...(after === '' ? {} : { StartAfter: this.key(after) }),
        }),
        { abortSignal: signal },
      ),
    );
    // One reply of S3 lists up to 1,000 objects and costs the same for any number of objects, so the request sets
    // no limit.
    return (page.Contents ?? [])
      .slice(0, count)
      .flatMap(({ Key, LastModified }) =>
        Key === undefined || LastModified === undefined
          ? []
          : [{ id: Key.slice(this.key('').length), storedAt: LastModified.getTime() }],
      );
  }

  private key(id: string): string {
    return this.location.prefix === '' ? id : `${this.location.prefix}/${id}`;
  }
}
