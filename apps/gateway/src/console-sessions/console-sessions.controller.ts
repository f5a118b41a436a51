import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Inject,
  Param,
  Post,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenSession, Principal, Session, SessionService } from '#accounts';
import { Audited } from '../audit/audited.js';
import { ApiKeyUseRecorder } from '../auth/api-key-use-recorder.js';
import { applyRateLimits } from '../auth/authentication.js';
import type { Authenticator } from '../auth/authenticator.js';
import { rememberCaller } from '../auth/caller.js';
import {
  cookieOf,
  MAX_SESSIONS_PER_BROWSER,
  sessionTokenOf,
  sessionTokensOf,
} from '../auth/console-cookie.js';
import type { RateLimit } from '../auth/rate-limit.js';
import { Public } from '../auth/require-scope.js';
import { InputPipe } from '../input/input.pipe.js';
import { notFound, Problem } from '../problems/problem.js';
import { AUTHENTICATOR, RATE_LIMIT, SESSIONS, TOKEN_RATE_LIMIT } from '../tokens.js';
import { ConsoleGuard } from './console.guard.js';
import { SignInLimit } from './sign-in-limit.js';

/**
 * Signs the web console in and out. A browser may have sessions of several API keys at the same time; their tokens are in
 * one cookie, which scripts cannot read.
 */
@ApiExcludeController()
@UseGuards(ConsoleGuard)
@Controller('console/sessions')
export class ConsoleSessionsController {
  constructor(
    @Inject(AUTHENTICATOR) private readonly authenticator: Authenticator,
    @Inject(SESSIONS) private readonly sessions: SessionService,
    @Inject(RATE_LIMIT) private readonly apiKeyLimit: RateLimit,
    @Inject(TOKEN_RATE_LIMIT) private readonly tokenLimit: RateLimit,
    @Inject(SignInLimit) private readonly signIns: SignInLimit,
    @Inject(ApiKeyUseRecorder) private readonly uses: Pick<ApiKeyUseRecorder, 'note'>,
  ) {}

  @Post()
  @Public()
  @Header('cache-control', 'no-store')
  @Audited('session.created')
  async create(
    // The body has no fields.
    @Body(new InputPipe(Object, { mayBeAbsent: true })) _: object,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Session> {
    const caller = await this.ownerOf(request, reply);
    const open = await this.openSessions(request);
    const others = open.filter((one) => one.session.keyId !== caller.keyId);
    if (others.length >= MAX_SESSIONS_PER_BROWSER) {
      const detail = `This browser has reached its limit of ${MAX_SESSIONS_PER_BROWSER} sessions. Sign out of another session first.`;
      throw new Problem('conflict', detail);
    }
    const replaced = open.filter((one) => !others.includes(one)).map(({ session }) => session.id);
    const { token, session } = await this.sessions.create(caller, replaced);
    setSessions(reply, [...others.map((one) => one.token), token]);
    return session;
  }

  @Get()
  @Public()
  @Header('cache-control', 'no-store')
  async list(@Req() request: FastifyRequest): Promise<{ sessions: Session[] }> {
    // The response does not change the cookie: it could overwrite the new cookie of a simultaneous sign-in.
    return { sessions: (await this.openSessions(request)).map(({ session }) => session) };
  }

  @Delete(':id')
  @HttpCode(204)
  @Public()
  @Header('cache-control', 'no-store')
  @Audited('session.ended')
  async remove(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('id') id: string,
  ): Promise<void> {
    const token = sessionTokenOf(request.headers, id);
    if (token === undefined) throw notFound('session', id);
    const rest = sessionTokensOf(request.headers).filter((other) => other !== token);
    const found = await this.sessions.find(token);
    if (found !== undefined) rememberCaller(request, found.caller);
    const isEnded = await this.sessions.end(token);
    setSessions(reply, rest);
    if (found === undefined || !isEnded) throw notFound('session', id);
  }

  /**
   * Authenticates the API key that signs in, records its use, and counts the request towards its rate limit. A request
   * with a token is rejected, but counts like any other request with the token.
   */
  private async ownerOf(request: FastifyRequest, reply: FastifyReply): Promise<Principal> {
    const { headers, ip } = request;
    // Only the API key counts: a session in the cookie must not authenticate the sign-in.
    const given = { ...headers, cookie: undefined };
    const caller = await this.signIns.guard(ip, () => this.authenticator.authenticate(given));
    rememberCaller(request, caller);
    this.uses.note(caller.keyId);
    await applyRateLimits({ apiKey: this.apiKeyLimit, token: this.tokenLimit }, caller, reply);
    if (caller.tokenId !== undefined)
      throw new Problem('forbidden', 'Signing in requires an API key; a token is not enough.');
    return caller;
  }

  /** Returns the valid sessions in the cookie, with their tokens. */
  private async openSessions({ headers }: FastifyRequest): Promise<(OpenSession & { token: string })[]> {
    const found = await Promise.all(
      sessionTokensOf(headers).map(async (token) => ({ token, open: await this.sessions.find(token) })),
    );
    return found.flatMap(({ token, open }) => (open === undefined ? [] : [{ ...open, token }]));
  }
}

function setSessions(reply: FastifyReply, tokens: readonly string[]): void {
  reply.header('set-cookie', cookieOf(tokens));
}
