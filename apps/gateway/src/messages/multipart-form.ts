import type { Multipart, MultipartFile, MultipartValue } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { BlobStore } from '#blobs';
import type { Logger } from '#platform';
import type { StoredFile } from '#relay';
import { LIMITS } from '../http/limits.js';
import { type FieldFault, invalid, Problem } from '../problems/problem.js';

const MAX_NAME_LENGTH = 255;
const CONTENT_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

/**
 * Reads a multipart form part by part and streams its only file to the blob store.
 * The caller must call {@link MultipartForm.discard} if no stored send refers to the file.
 */
export class MultipartForm {
  readonly fields: Record<string, unknown> = {};
  file: StoredFile | undefined;
  private readonly faults: FieldFault[] = [];

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
      const parts = this.request.parts();
      for (let part = await nextOf(parts); part !== undefined; part = await nextOf(parts)) {
        if (part.type === 'file') await this.takeFile(part);
        else this.takeField(part);
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

  private takeField({ fieldname, value, valueTruncated }: MultipartValue): void {
    const field = partName(fieldname);
    if (valueTruncated)
      throw new Problem('payload_too_large', `${field} exceeds the limit of ${LIMITS.partBytes} bytes.`);
    if (field === 'file') this.faults.push({ field, message: 'must be a file part with a file name' });
    else if (Object.hasOwn(this.fields, field))
      this.faults.push({ field, message: 'must occur only once in the request' });
    else this.fields[field] = field === 'metadata' ? readJson(value) : value;
  }

  private async takeFile({ fieldname, filename, mimetype, file }: MultipartFile): Promise<void> {
    if (fieldname !== 'file') {
      this.faults.push({ field: partName(fieldname), message: 'must be a text part, not a file part' });
      file.resume();
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

/** Returns the next part, or undefined at the end. Every error here is the parser's, about what the caller sent. */
async function nextOf(parts: AsyncIterableIterator<Multipart>): Promise<Multipart | undefined> {
  try {
    const next = await parts.next();
    return next.done === true ? undefined : next.value;
  } catch (error) {
    throw formProblem(error);
  }
}

function formProblem(error: unknown): Problem {
  switch (codeOf(error)) {
    case 'FST_FILES_LIMIT':
      return invalid({ field: 'file', message: 'must occur only once in the request' });
    case 'FST_PARTS_LIMIT':
    case 'FST_FIELDS_LIMIT':
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
