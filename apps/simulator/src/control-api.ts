import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { refuseForeignPages } from './foreign-pages.js';
import { verbs } from './control/verbs.js';
import { InvalidInput, NotFound } from './input-errors.js';
import type { SimulatorCore } from './simulator-core.js';
import { statusOf, messageOf } from './error-properties.js';

const MAX_BODY_BYTES = 268_435_456;

/** Verbs that only read. They accept GET in addition to POST. */
const READABLE = new Set(['ledger', 'state', 'settings', 'faults']);

/**
 * Serves the control API for tests: `POST /_simulator/<verb>` with a JSON body, and GET for verbs that only
 * read. No API key is required. Errors are `{error, field, message}` with status 400, 403 or 404.
 */
export function controlApi(
  server: FastifyInstance,
  { core }: { core: SimulatorCore },
  done: () => void,
): void {
  // Treat an empty body as an empty object, for verbs without arguments.
  server.removeContentTypeParser('application/json');
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: MAX_BODY_BYTES },
    (_request, body, parsed) => {
      try {
        parsed(null, body === '' ? {} : JSON.parse(String(body)));
      } catch (error) {
        parsed(new InvalidInput('body', `is not valid JSON: ${messageOf(error)}`));
      }
    },
  );

  server.addHook('onRequest', refuseForeignPages);
  server.setErrorHandler(answerControlError);

  server.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({
      error: 'not_found',
      field: 'verb',
      message: `Unknown verb. Known verbs: ${Object.keys(verbs).sort().join(', ')}`,
    }),
  );

  for (const [name, verb] of Object.entries(verbs)) {
    server.post(`/${name}`, (request, reply) => reply.send(verb(core, request.body)));
    if (!READABLE.has(name)) continue;
    server.get(`/${name}`, (request, reply) => {
      if (name === 'settings') return reply.send(core.settings);
      if (name === 'faults') return reply.send({ faults: core.faults.list() });
      return reply.send(verb(core, numeralsAsNumbers(request.query)));
    });
  }
  done();
}

/** Replies with a control error: `{error, field, message}`. */
export function answerControlError(
  error: unknown,
  _request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof InvalidInput)
    return reply.code(400).send({ error: 'invalid_input', field: error.field, message: error.message });
  if (error instanceof NotFound)
    return reply.code(404).send({ error: 'not_found', field: error.field, message: error.message });
  const status = statusOf(error) ?? 500;
  const word = status < 500 ? 'bad_request' : 'internal';
  return reply.code(status).send({ error: word, field: null, message: messageOf(error) });
}

function numeralsAsNumbers(query: unknown): object {
  if (typeof query !== 'object' || query === null) return {};
  const numeric = (value: unknown): unknown =>
    typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return Object.fromEntries(
    Object.entries(query).map(([name, value]: [string, unknown]) => [
      name,
      name === 'since' || name === 'limit' ? numeric(value) : value,
    ]),
  );
}
