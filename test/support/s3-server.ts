import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';

const BUCKET = 'tidings-test';
/** What this server takes, and nothing else. */
const CREDENTIAL = 'S3RVER';

/** An S3 server with one empty bucket, which leaves nothing behind. */
export interface TestS3 extends AsyncDisposable {
  readonly bucket: string;
  /** The SDK's own variables, with which a process finds it. */
  readonly environment: Readonly<Record<string, string>>;
  /** What of whole objects and of parts lies in the bucket, as this server keeps it. */
  files(): Promise<string[]>;
}

/** Starts one on a free port. */
export async function startTestS3(): Promise<TestS3> {
  const directory = await mkdtemp(join(tmpdir(), 'tidings-s3-'));
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    // It signs a list's path without the slash with which the SDK and S3 sign it.
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
      // Marks tell that processes use the bucket; they are no files of sends.
      const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('.marks'));
      return files.map(({ name }) => name);
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
