import { createHash } from 'node:crypto';
import type { MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import type { Answer } from './answers.js';
import { JSON_TYPE, errorAnswer, jsonAnswer } from './answers.js';
import { isPhoneNumber } from './checks.js';
import type { Fault } from './fault-kinds.js';
import type { SendPart } from './ledger-entries.js';
import { INVALID_UTF8_MARK, invalidUtf8Bytes } from './wire-shapes.js';
import type { IncomingSend } from './world/sends.js';
import type { World } from './world/world.js';
import { statusOf, messageOf } from './error-properties.js';

const MAX_FIELD_BYTES = 10_485_760;
const MAX_PARTS = 50;

/** A send request that was read completely, or the reply that rejects it. */
export type ReadSend =
  | { readonly send: IncomingSend; readonly refusal: null }
  | { readonly send: null; readonly refusal: Answer; readonly phoneNumber: string | null };

/** Reads the parts of a send request. Keeps only the size and the digest of a file. */
export async function readSend(
  request: FastifyRequest,
  requestId: string,
  maxFileBytes: number,
): Promise<ReadSend> {
  if (!request.isMultipart())
    return refused(errorAnswer(415, 'Unsupported Media Type', 'The body must be multipart/form-data'));
  const parts: SendPart[] = [];
  const limits = { fileSize: maxFileBytes, fieldSize: MAX_FIELD_BYTES, parts: MAX_PARTS };
  let tooLarge: string | null = null;
  try {
    for await (const part of request.parts({ limits })) {
      if (part.type === 'file') {
        parts.push(await digestOf(part));
        if (part.file.truncated) tooLarge = part.fieldname;
      } else {
        if (part.valueTruncated) tooLarge = part.fieldname;
        parts.push({ name: part.fieldname, value: String(part.value) });
      }
    }
  } catch (error) {
    return refused(unreadable(error));
  }
  if (tooLarge !== null) return refused(errorAnswer(413, 'Payload Too Large', `${tooLarge} is too large`));
  return interpreted(parts, requestId);
}

/** Accepts a send and returns the confirmation. */
export function acceptSend(world: World, send: IncomingSend, fault: Fault | null): Answer {
  world.sends.accept(send);
  if (fault?.kind === 'poisonMessage') return jsonAnswer(200, null);
  const message = 'Message job queued for processing';
  if (fault?.kind !== 'invalidUtf8') return jsonAnswer(200, { status: 'queued', message });
  const body = JSON.stringify({ status: 'queued', message: message + INVALID_UTF8_MARK });
  return { status: 200, body: invalidUtf8Bytes(body), contentType: JSON_TYPE };
}

async function digestOf(part: MultipartFile): Promise<SendPart> {
  const digest = createHash('sha256');
  let size = 0;
  for await (const chunk of part.file as AsyncIterable<Buffer>) {
    digest.update(chunk);
    size += chunk.length;
  }
  const { fieldname: name, filename, mimetype: contentType } = part;
  return { name, filename, contentType, size, sha256: digest.digest('hex') };
}

function interpreted(parts: readonly SendPart[], requestId: string): ReadSend {
  const phoneNumber = valueOf(parts, 'phoneNumber');
  const message = valueOf(parts, 'message');
  const fileUrl = valueOf(parts, 'fileUrl');
  const hasFile = parts.some((part) => part.name === 'file' && 'sha256' in part);
  if (phoneNumber === null || phoneNumber === '')
    return refused(errorAnswer(400, 'Bad Request', 'phoneNumber is required'));
  if (!isPhoneNumber(phoneNumber))
    return refused(errorAnswer(400, 'Bad Request', 'phoneNumber must be in E.164 format'), phoneNumber);
  if ((message === null || message === '') && (fileUrl === null || fileUrl === '') && !hasFile)
    return refused(
      errorAnswer(400, 'Bad Request', 'One of message, file and fileUrl is required'),
      phoneNumber,
    );
  const type = valueOf(parts, 'type') ?? 'text';
  return { send: { requestId, phoneNumber, type, message, fileUrl, parts }, refusal: null };
}

/** Returns the last value of a field, as most form parsers do. */
function valueOf(parts: readonly SendPart[], name: string): string | null {
  for (const part of parts.toReversed()) if (part.name === name && 'value' in part) return part.value;
  return null;
}

function refused(refusal: Answer, phoneNumber: string | null = null): ReadSend {
  return { send: null, refusal, phoneNumber };
}

function unreadable(error: unknown): Answer {
  const status = statusOf(error);
  const words = messageOf(error);
  if (status === 413) return errorAnswer(413, 'Payload Too Large', words);
  return errorAnswer(400, 'Bad Request', `Could not read the multipart body: ${words}`);
}
