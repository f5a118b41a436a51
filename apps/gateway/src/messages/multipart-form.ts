import type { Multipart, MultipartFile, MultipartValue } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { BlobStore } from '#blobs';
import type { StoredFile } from '#relay';
import { LIMITS } from '../http/limits.js';
import { type FieldFault, invalid, Problem } from '../problems/problem.js';

const LONGEST_NAME = 255;
const CONTENT_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/;

/**
 * A multipart form, read part by part; its one file goes straight into the blob store.
 * Whoever made it discards it unless the file has found its place: see {@link MultipartForm.discard}.
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
  ) {}

  /** @throws {Problem | BlobTooLargeError} and leaves nothing stored then */
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

  /** Removes the file again. */
  async discard(): Promise<void> {
    if (this.file !== undefined) await this.blobs.remove(this.file.blobId);
    this.file = undefined;
  }

  private takeField({ fieldname, value, valueTruncated }: MultipartValue): void {
    const field = partName(fieldname);
    if (valueTruncated)
      throw new Problem('payload_too_large', `${field} is larger than ${LIMITS.part} bytes.`);
    if (field === 'file') this.faults.push({ field, message: 'must be sent as a file, with a file name' });
    else if (Object.hasOwn(this.fields, field))
      this.faults.push({ field, message: 'is given more than once' });
    else this.fields[field] = field === 'metadata' ? readJson(value) : value;
  }

  private async takeFile({ fieldname, filename, mimetype, file }: MultipartFile): Promise<void> {
    if (fieldname !== 'file') {
      this.faults.push({ field: partName(fieldname), message: 'must not be sent as a file' });
      file.resume();
      return;
    }
    // What broke off in the caller's hands is an error of the stream; what the disk refuses is not.
    const breaks = new Set<unknown>();
    file.on('error', (error) => breaks.add(error));
    let stored;
    try {
      stored = await this.blobs.put(this.account, file, this.uploadMaxBytes);
    } catch (error) {
      const brokeOff =
        breaks.has(error) || file.errored === error || codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE';
      throw brokeOff ? malformed(error) : error;
    }
    // A browser's form sends an empty part where no file was chosen.
    if (stored.size === 0 && filename === '') {
      await this.blobs.remove(stored.id);
      return;
    }
    const { id: blobId, size, sha256 } = stored;
    this.file = { blobId, name: nameOf(filename), contentType: typeOf(mimetype), size, sha256 };
    if (size === 0) this.faults.push({ field: 'file', message: 'is empty' });
  }
}

/** Metadata is JSON text in a form; what is no JSON is left to the rules, which refuse it. */
function readJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A part or a file may come without a name, whatever the parser's types say. */
function partName(name: string | undefined): string {
  return (name ?? '').slice(0, LONGEST_NAME);
}

/** A file's name that can stand in a header again. */
function nameOf(filename: string | undefined): string {
  const name = partName(filename).replace(/[\p{Cc}\p{Surrogate}"\\/]/gu, '_');
  return name === '' ? 'file' : name;
}

function typeOf(mimetype: string): string {
  return CONTENT_TYPE.test(mimetype) ? mimetype : 'application/octet-stream';
}

/** The next part, if there is one; whatever goes wrong here is the parser's word on what the caller sent. */
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
      return invalid({ field: 'file', message: 'is given more than once' });
    case 'FST_PARTS_LIMIT':
    case 'FST_FIELDS_LIMIT':
      return new Problem('payload_too_large', 'The form has more parts than are read here.');
    default:
      return malformed(error);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function malformed(cause: unknown): Problem {
  const words = cause instanceof Error ? cause.message : 'it broke off';
  return new Problem('malformed_body', `The form cannot be read: ${words}.`, { cause });
}

/** Reads on a little without keeping anything, for callers who read the answer only after they have sent all. */
function drain(request: FastifyRequest): void {
  let left: number = LIMITS.drain;
  request.raw.unpipe();
  request.raw.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.raw.destroy();
  });
  request.raw.resume();
}
