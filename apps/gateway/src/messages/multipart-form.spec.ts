import { expect, it } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { type BlobStore, BlobStoreUnavailableError } from '#blobs';
import { createLogger } from '#platform';
import { MultipartForm } from './multipart-form.js';

it('discarding a form does not fail if its file cannot be deleted, and the failure is logged', async () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'info', { write: (line) => lines.push(line) });
  const blobs: Pick<BlobStore, 'remove'> = {
    remove: () => Promise.reject(new BlobStoreUnavailableError('no answer')),
  };
  const request = { id: 'req_1' } as FastifyRequest;
  const form = new MultipartForm(request, blobs as BlobStore, 'default', 1_000, logger);
  form.file = { blobId: 'default/blb_1', name: 'a.txt', contentType: 'text/plain', size: 1, sha256: '' };
  await form.discard();
  expect(form.file).toBeUndefined();
  expect(lines).toHaveLength(1);
});
