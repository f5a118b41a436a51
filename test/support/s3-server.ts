import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';

const BUCKET = 'tidings-test';
/** The only access key and secret that this server accepts. */
const CREDENTIAL = 'S3RVER';

/**
 * Files in which this server stores the checksum and the metadata of an object. The server writes these files after
 * the object, so a deletion in between leaves them behind. Requests find no object of which only these files exist.
 */
const NOTES_OF_AN_OBJECT = /\._S3rver_(object\.md5|metadata\.json)$/;

/** An S3 server with one empty bucket. Its data is removed at the end. */
export interface TestS3 extends AsyncDisposable {
  readonly bucket: string;
  /** Environment variables with which the AWS SDK of a process uses this server. */
  readonly environment: Readonly<Record<string, string>>;
  /** The files of objects and upload parts in the bucket. */
  files(): Promise<string[]>;
}

/** Starts an S3 server on a free port. */
export async function startTestS3(): Promise<TestS3> {
  const directory = await mkdtemp(join(tmpdir(), 'tidings-s3-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    // For lists, this server computes the signature of a path without the final slash of the SDK and S3.
    allowMismatchedSignatures: true,
    configureBuckets: [{ name: BUCKET, configs: [] }],
  });
  const { port } = await server.run();
  return {
    bucket: BUCKET,
    environment: {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: CREDENTIAL,
      AWS_SECRET_ACCESS_KEY: CREDENTIAL,
    },
    files: async () => {
      const entries = await readdir(join(directory, BUCKET), { recursive: true, withFileTypes: true });
      // Marker objects show which processes use the bucket; they are not files of sends.
      const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('.marks'));
      return files.map(({ name }) => name).filter((name) => !NOTES_OF_AN_OBJECT.test(name));
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
