import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { ReplyHead } from './http-failure.js';

const DECOMPRESSORS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Returns the body of a reply decompressed; the same body if it is not compressed in a known way. */
export function decompressBody<Body extends Iterable<Buffer> | Readable>(
  body: Body,
  headers: ReplyHead['headers'],
): Body | Readable {
  const encoding = headers['content-encoding'];
  const create = typeof encoding === 'string' ? DECOMPRESSORS[encoding.trim().toLowerCase()] : undefined;
  if (create === undefined) return body;
  const source = body instanceof Readable ? body : Readable.from(body);
  const result = create();
  source.on('error', (error) => result.destroy(error));
  result.on('close', () => source.destroy());
  return source.pipe(result);
}
