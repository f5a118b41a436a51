import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventToJson, type LoggedEvent } from '#events';
import { type RedisClient, EvalshaScript } from '#platform';
import { deliveryId } from '#webhooks';

const read = (name: string): string => readFileSync(join(import.meta.dirname, `${name}.lua`), 'utf8');
/** Common helpers at the start of each script of the older build. */
const script = (name: string): EvalshaScript => new EvalshaScript(`${read('common')}\n${read(name)}`);
const [CREATE, CLAIM, SETTLE, END_PENDING] = ['create', 'claim', 'settle', 'end-pending'].map(script) as [
  EvalshaScript,
  EvalshaScript,
  EvalshaScript,
  EvalshaScript,
];

/** A delivery that the older build claimed, with its stored body. */
export interface ClaimedByOlder {
  id: string;
  claim: string;
  eventId: string;
  body: string | null;
}

/**
 * Simulates the build of commit 5f68bc9 beside this build, with its original delivery scripts. That build stored each
 * body with its delivery.
 */
export class OlderBuild {
  private readonly base: string;
  private claims = 0;

  constructor(
    private readonly redis: RedisClient,
    prefix: string,
    account: string,
  ) {
    this.base = `${prefix}:{${account}}:`;
  }

  async create(endpointId: string, events: readonly LoggedEvent[]): Promise<void> {
    await this.run(CREATE, [
      ...['', '', 0, events.length],
      ...events.flatMap((event) => [
        ...[event.id, event.type, event.contactId ?? '', event.position],
        eventToJson(event),
      ]),
      ...events.flatMap(({ id }, n) => [deliveryId(id, endpointId), endpointId, n]),
    ]);
  }

  async claim(endpointId: string, leaseMs = 60_000): Promise<ClaimedByOlder[]> {
    const claim = `older-${(this.claims += 1)}`;
    const reply = await this.run(CLAIM, [endpointId, 20, 50, leaseMs, claim]);
    const [, , , ...fields] = (reply ?? []) as (string | null)[];
    const claimed: ClaimedByOlder[] = [];
    for (let i = 0; i < fields.length; i += 4) {
      const [id, eventId, , body] = fields.slice(i, i + 4);
      claimed.push({ id: id ?? '', claim, eventId: eventId ?? '', body: body ?? null });
    }
    return claimed;
  }

  /** Records the outcome of an attempt. Returns true if it was recorded. */
  async settle(
    endpointId: string,
    { id, claim }: ClaimedByOlder,
    status: 'succeeded' | 'pending' | 'failed',
    slower = false,
  ): Promise<boolean> {
    const attempt = JSON.stringify({ at: '', durationMs: 1, statusCode: 500, reply: '', error: null });
    const args = [endpointId, 20, id, claim, attempt, 1, status, 0, 'x', slower ? 1 : 0, 0, 100];
    const [recorded] = (await this.run(SETTLE, args)) as number[];
    return recorded === 1;
  }

  async endPending(endpointId: string): Promise<number> {
    return Number(await this.run(END_PENDING, [endpointId, 500]));
  }

  private run(of: EvalshaScript, args: readonly (string | number)[]): Promise<unknown> {
    return of.run(this.redis, [`${this.base}webhooks`], [this.base, ...args]);
  }
}
