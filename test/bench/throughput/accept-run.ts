import { type Cost, costOf } from './cost.js';
import { type Installation, pidOf } from './installation.js';
import { Program } from './program.js';
import type { LoadRequest, LoadResult } from './programs/http-load.js';

const CONNECTIONS = 64;
const DURATION_MS = 4_000;
const BODY = JSON.stringify({ phoneNumber: '+1415{n}', message: 'Your parcel is here.' });

/** Sends as many sends as are accepted, over 64 connections. */
export class AcceptLoad implements AsyncDisposable {
  private readonly load = Program.start('http-load', {});

  /** @throws {Error} unless each request succeeds */
  async run(
    request: Pick<LoadRequest, 'port' | 'path' | 'headers' | 'idempotent'>,
    durationMs = DURATION_MS,
  ): Promise<LoadResult> {
    const result = await this.load.ask<LoadResult>({
      body: BODY,
      connections: CONNECTIONS,
      durationMs,
      ...request,
    } satisfies LoadRequest);
    if (Object.keys(result.failures).length > 0) throw new Error(JSON.stringify(result.failures));
    return result;
  }

  /** Each send has a key of its own and is stored. */
  async runOn(
    { gateway, apiKey, redis }: Installation,
    durationMs?: number,
  ): Promise<LoadResult & { cost: Cost }> {
    const request = {
      port: gateway.port,
      path: '/v1/messages/send',
      headers: { 'x-api-key': apiKey },
      idempotent: true,
    };
    let result: LoadResult | undefined;
    const cost = await costOf(redis.client, [pidOf(gateway)], async () => {
      result = await this.run(request, durationMs);
      return result.count;
    });
    if (result === undefined) throw new Error('nothing was measured');
    return { ...result, cost };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.load[Symbol.asyncDispose]();
  }
}
