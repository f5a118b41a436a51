// The least that a gateway could do: a route that validates the body of a send with a schema and adds a job to a queue.
import { Queue } from 'bullmq';
import { fastify } from 'fastify';
import { serveRequests } from '../program.js';

const SCHEMA = {
  type: 'object',
  required: ['phoneNumber'],
  additionalProperties: false,
  properties: {
    phoneNumber: { type: 'string', pattern: '^\\+[1-9]\\d{1,14}$' },
    type: { type: 'string', pattern: '^[a-z][a-z0-9_-]{0,63}$' },
    message: { type: 'string', minLength: 1, maxLength: 10_000 },
    fileUrl: { type: 'string', maxLength: 2_048 },
    reference: { type: 'string', minLength: 1, maxLength: 128 },
    metadata: { type: 'object' },
    sendAt: { type: 'string', maxLength: 64 },
    expiresAt: { type: 'string', maxLength: 64 },
  },
};

serveRequests(async ({ redisUrl }: { redisUrl: string }) => {
  const queue = new Queue('bare', { connection: { url: redisUrl } });
  const app = fastify();
  app.post('/send', { schema: { body: SCHEMA } }, async ({ body }) => {
    const { id } = await queue.add('send', body);
    return { id, status: 'queued' };
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return () => ({ port: address.port });
});
