import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Answer } from './answers.js';
import { errorAnswer, sendAnswer } from './answers.js';
import type { Fault } from './fault-kinds.js';
import { replyWithFault } from './fault-replies.js';
import type { FaultTarget } from './faults.js';
import type { HeldExchanges } from './held-exchanges.js';
import { RateLimit } from './rate-limit.js';
import { readPaging, serveContacts, servePage } from './reading.js';
import { RequestLog } from './request-log.js';
import { acceptSend, readSend } from './sending.js';
import type { SimulatorCore } from './simulator-core.js';

export interface UpstreamApiOptions {
  readonly core: SimulatorCore;
  readonly apiKey: string;
  readonly held: HeldExchanges;
}

/** Registers the routes of the messaging service's interface description, under `/v1`. */
export async function upstreamApi(server: FastifyInstance, options: UpstreamApiOptions): Promise<void> {
  const { core, apiKey, held } = options;
  const log = new RequestLog(core.ledger);
  const rateLimit = new RateLimit();
  await server.register(multipart);

  server.addHook('onRequest', async (request, reply) => {
    const keyOk = request.headers['x-api-key'] === apiKey && !core.settings.rejectKey;
    log.begin(request, reply, keyOk);
    stampDate(reply);
    if (!keyOk) return reject(reply, errorAnswer(401, 'Unauthorized', 'A valid X-API-Key is required'));
    const rate = core.settings.rateLimitPerSecond;
    if (rate !== null && !rateLimit.take(rate)) {
      const answer = errorAnswer(429, 'Too Many Requests', `At most ${rate} requests per second`);
      return reject(reply, { ...answer, headers: { 'retry-after': '1' } });
    }
    return undefined;
  });

  server.setNotFoundHandler((_request, reply) => {
    sendAnswer(reply, errorAnswer(404, 'Not Found', 'Operation not found'));
  });

  server.get('/contacts', async (request, reply) => {
    await run(request, reply, {}, (fault) => serveContacts(core, log.idOf(request), fault));
    return reply;
  });

  server.get<{ Params: { id: string } }>('/contacts/:id/messages', async (request, reply) => {
    const contactId = request.params.id;
    await run(request, reply, { contactId }, (fault) => {
      const paging = readPaging(request.query);
      if ('status' in paging) return paging;
      return servePage(core, { requestId: log.idOf(request), contactId, ...paging }, fault);
    });
    return reply;
  });

  server.post('/messages/send', async (request, reply) => {
    const early = core.faults.take(targetOf(request, {}), true);
    if (early !== null) {
      await enactFor(request, reply, early, () => errorAnswer(400, 'Bad Request', 'The body was not read'));
      return reply;
    }
    const read = await readSend(request, log.idOf(request), core.settings.maxFileBytes);
    const phoneNumber = read.send === null ? read.phoneNumber : read.send.phoneNumber;
    const contactId = phoneNumber === null ? null : (core.world.contacts.byNumber(phoneNumber)?.id ?? null);
    await run(request, reply, { phoneNumber, contactId }, (fault) =>
      read.send === null ? read.refusal : acceptSend(core.world, read.send, fault),
    );
    return reply;
  });

  async function run(
    request: FastifyRequest,
    reply: FastifyReply,
    about: Partial<FaultTarget>,
    process: (fault: Fault | null) => Answer,
  ): Promise<void> {
    await enactFor(request, reply, core.faults.take(targetOf(request, about), false), process);
  }

  async function enactFor(
    request: FastifyRequest,
    reply: FastifyReply,
    fault: Fault | null,
    process: (fault: Fault | null) => Answer,
  ): Promise<void> {
    log.noteFault(request, fault);
    const exchange = {
      reply,
      held,
      hangCapMs: core.settings.hangCapMs,
      process: (fault: Fault | null): Answer => {
        const answer = core.act(() => process(fault));
        if (!reply.raw.headersSent) stampDate(reply);
        return answer;
      },
    };
    await replyWithFault(exchange, fault);
  }

  /** Sets the `Date` header to upstream's time, including the clock skew. */
  function stampDate(reply: FastifyReply): void {
    reply.raw.setHeader('date', new Date(core.world.upstreamNow()).toUTCString());
  }
}

function reject(reply: FastifyReply, answer: Answer): FastifyReply {
  sendAnswer(reply, answer);
  return reply;
}

function targetOf(request: FastifyRequest, about: Partial<FaultTarget>): FaultTarget {
  return { method: request.method, path: request.url, contactId: null, phoneNumber: null, ...about };
}
