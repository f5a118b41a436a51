/** Location of the blob store: a directory, or a bucket of an S3 server. */
export type BlobLocation =
  | { kind: 'file'; directory: string }
  /** The prefix of the object names in the bucket has no slash at its beginning or end. It may be empty. */
  | { kind: 's3'; bucket: string; prefix: string };

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/**
 * The prefix of the object names in the bucket consists of segments, separated by slashes. `SEGMENT` matches one
 * segment: only characters that every S3 server accepts unencoded, but not the segments `.` and `..`.
 */
const SEGMENT = /^(?!\.{1,2}$)[\w.-]+$/;

/**
 * Parses the location of the blob store: `file:DIR` or `s3://bucket/prefix`.
 * @throws {Error} for any other text
 */
export function parseBlobLocation(text: string): BlobLocation {
  if (/^file:./.test(text)) return { kind: 'file', directory: text.slice('file:'.length) };
  if (!text.startsWith('s3://')) throw new Error('neither file: nor s3:');
  const [bucket = '', ...segments] = text.slice('s3://'.length).replace(/\/$/, '').split('/');
  if (!BUCKET.test(bucket) || !segments.every((segment) => SEGMENT.test(segment))) {
    throw new Error('no bucket and prefix');
  }
  return { kind: 's3', bucket, prefix: segments.join('/') };
}
