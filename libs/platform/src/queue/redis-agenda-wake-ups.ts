import { agendaWakeUpChannel } from './redis-agenda.js';
import type { AgendaName } from './redis-agendas.js';
import type { AgendaWakeUps } from './agenda.js';
import type { RedisChannelSubscriber } from '../redis/redis-channel-subscriber.js';

/** Implements {@link AgendaWakeUps} with Redis publish/subscribe. The Lua scripts of agendas publish the wake-ups. */
export class RedisAgendaWakeUps implements AgendaWakeUps {
  private readonly channel: string;

  constructor(
    private readonly channels: RedisChannelSubscriber,
    prefix: string,
    name: AgendaName,
  ) {
    this.channel = agendaWakeUpChannel(prefix, name);
  }

  isReceiving(): boolean {
    return this.channels.isReceiving();
  }

  listen(onSooner: (inMs: number) => void): void {
    this.channels.subscribe(this.channel, {
      onMessage: (text) => {
        const inMs = Number(text);
        onSooner(Number.isFinite(inMs) ? inMs : 0);
      },
      onGap: () => {
        onSooner(0);
      },
    });
  }
}
