import type { MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { Readable } from 'node:stream';
import type { BlobStore } from '#blobs';
import type { Logger } from '#platform';
import type { StoredFile } from '#relay';
import { LIMITS } from '../http/limits.js';
import { type FieldFault, invalid, Problem } from '../problems/problem.js';

const MAX_NAME_LENGTH = 255;
const ONLY_ONCE = 'must occur only once in the request';
/**
 * Decodes strictly, whatever charset a part declares: an invalid byte is an error instead of U+FFFD. The parser does not
 * pass the charset on; text in another charset is rejected, unless it is ASCII.
 */
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const CONTENT_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

/**
 * Reads a multipart form part by part and streams its only file to the blob store.
 * The caller must call {@link MultipartForm.discard} if no stored send refers to the file.
 */
export class MultipartForm {
  readonly fields: Record<string, unknown> = {};
  file: StoredFile | undefined;
  private readonly faults: FieldFault[] = [];
  /** Size of the text parts that were read, in bytes. */
  private textBytes = 0;

  constructor(
    private readonly request: FastifyRequest,
    private readonly blobs: BlobStore,
    private readonly account: string,
    private readonly uploadMaxBytes: number,
    private readonly logger: Logger,
  ) {}

  /** Reads the whole form. A failed read leaves no file in the blob store. @throws {Problem | BlobTooLargeError} */
  async read(): Promise<void> {
    try {
      const parts = this.request.files();
      for (let part = await nextOf(parts); part !== undefined; part = await nextOf(parts)) {
        if (isFile(part)) await this.takeFile(part);
        else await this.takeField(part);
      }
    } catch (error) {
      await this.discard();
      drain(this.request);
      throw error;
    }
    if (this.faults.length > 0) {
      await this.discard();
      throw invalid(...this.faults);
    }
  }

  /** Removes the file from the blob store. If that fails, a periodic task removes it later. */
  async discard(): Promise<void> {
    const { file } = this;
    if (file === undefined) return;
    this.file = undefined;
    await this.remove(file.blobId);
  }

  private async remove(blobId: string): Promise<void> {
    try {
      await this.blobs.remove(blobId);
    } catch (error) {
      this.logger.warn(
        { requestId: this.request.id, blobId, err: error },
        'could not remove an uploaded file that no send needs; a periodic task removes it later',
      );
    }
  }

  private async takeField({ fieldname, mimetype, file }: MultipartFile): Promise<void> {
    const field = partName(fieldname);
    if (field === 'file') {
      this.skip(file, { field, message: 'must be a file part with a file name' });
      return;
    }
    const bytes = await bytesOf(field, file);
    this.textBytes += bytes.length;
    if (this.textBytes > LIMITS.allPartsBytes)
      throw new Problem(
        'payload_too_large',
        `The text parts of the form exceed the limit of ${LIMITS.allPartsBytes} bytes in total.`,
      );
    const text = textOf(field, bytes);
    const value = mimetype.startsWith('application/json') ? parsed(field, text) : text;
    if (Object.hasOwn(this.fields, field)) this.faults.push({ field, message: ONLY_ONCE });
    else this.fields[field] = field === 'metadata' ? readJson(value) : value;
  }

  private skip(part: Readable, fault: FieldFault): void {
    this.faults.push(fault);
    part.resume();
  }

  private async takeFile({ fieldname, filename, mimetype, file }: MultipartFile): Promise<void> {
    if (fieldname !== 'file') {
      this.skip(file, { field: partName(fieldname), message: 'must be a text part, not a file part' });
      return;
    }
    if (this.file !== undefined) {
      this.skip(file, { field: 'file', message: ONLY_ONCE });
      return;
    }
    // Errors of the caller's stream are the caller's fault; other errors come from the blob store.
    const streamErrors = new Set<unknown>();
    file.on('error', (error) => streamErrors.add(error));
    let stored;
    try {
      stored = await this.blobs.put(this.account, file, this.uploadMaxBytes);
    } catch (error) {
      const isCallersFault =
        streamErrors.has(error) || file.errored === error || codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE';
      throw isCallersFault ? malformed(error) : error;
    }
    // A browser sends an empty part without a file name if the user chose no file.
    if (stored.size === 0 && filename === '') {
      await this.remove(stored.id);
      return;
    }
    const { id: blobId, size, sha256 } = stored;
    this.file = { blobId, name: nameOf(filename), contentType: typeOf(mimetype), size, sha256 };
    if (size === 0) this.faults.push({ field: 'file', message: 'must be a non-empty file' });
  }
}

/** True for the parts that browsers and other clients send as files. The types of the parser hide that a name may be absent. */
function isFile({ filename, mimetype }: { filename?: string | undefined; mimetype: string }): boolean {
  return filename !== undefined || mimetype === 'application/octet-stream';
}

/** Reads a text part. @throws {Problem} if it is too large or incomplete */
async function bytesOf(field: string, part: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of part as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > LIMITS.partBytes) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw malformed(error);
  }
  if (size > LIMITS.partBytes)
    throw new Problem(
      'payload_too_large',
      `The part ${field} of the multipart form exceeds the limit of ${LIMITS.partBytes} bytes.`,
    );
  return Buffer.concat(chunks);
}

function textOf(field: string, bytes: Buffer): string {
  try {
    return UTF_8.decode(bytes);
  } catch (cause) {
    const detail = `The part ${field} of the multipart form is not valid UTF-8. Encode all text parts as UTF-8.`;
    throw new Problem('malformed_body', detail, { cause });
  }
}

/** Parses a part whose content type is JSON. */
function parsed(field: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Problem('malformed_body', `The part ${field} of the multipart form is not valid JSON.`, {
      cause,
    });
  }
}

/** Parses metadata, which is JSON text in a form. Returns invalid JSON unchanged: the validation then rejects it. */
function readJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Returns a name, shortened to the maximum length. A part or file may have no name, despite the parser's types. */
function partName(name: string | undefined): string {
  return (name ?? '').slice(0, MAX_NAME_LENGTH);
}

/** Returns a file name that is safe in the Content-Disposition header of the upstream request. */
function nameOf(filename: string | undefined): string {
  const name = partName(filename).replace(/[\p{Cc}\p{Surrogate}"\\/]/gu, '_');
  return name === '' ? 'file' : name;
}

function typeOf(mimetype: string): string {
  return CONTENT_TYPE.test(mimetype) ? mimetype : 'application/octet-stream';
}

/**
 * Returns the next part, or undefined at the end. Every error here comes from the parser, and concerns what the
 * caller sent.
 */
async function nextOf(parts: AsyncIterableIterator<MultipartFile>): Promise<MultipartFile | undefined> {
  try {
    const next = await parts.next();
    return next.done === true ? undefined : next.value;
  } catch (error) {
    throw formProblem(error);
  }
}

function formProblem(error: unknown): Problem {
  switch (codeOf(error)) {
    case 'FST_PARTS_LIMIT':
      return new Problem('payload_too_large', 'The form has too many parts.');
    default:
      return malformed(error);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function malformed(cause: unknown): Problem {
  const reason = cause instanceof Error ? cause.message : 'the form ends before its closing boundary';
  return new Problem('malformed_body', `The multipart form cannot be read: ${reason}.`, { cause });
}

/** Reads and drops the rest of the body, up to a limit, for callers that read the response only after sending everything. */
function drain(request: FastifyRequest): void {
  let left: number = LIMITS.drainBytes;
  request.raw.unpipe();
  request.raw.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.raw.destroy();
  });
  request.raw.resume();
}
