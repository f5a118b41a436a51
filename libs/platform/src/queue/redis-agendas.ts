import type { Agenda } from './agenda.js';
import { BackgroundTaskScheduler } from './background-task-scheduler.js';
import type { Logger } from '../log/logger.js';
import { RedisAgenda } from './redis-agenda.js';
import type { RedisClient } from '../redis/redis-connection.js';

/** Names of the agendas: one for each role of the worker, and one for the times of scheduled sends. */
export type AgendaName = 'poll' | 'relay' | 'dispatch' | 'schedule';

export interface OpenedAgenda {
  agenda: Agenda;
  /** Writes tasks, with the times at which they may be due, to the agenda in the background. */
  scheduler: BackgroundTaskScheduler;
}

export type Agendas = Readonly<Record<AgendaName, OpenedAgenda>>;

/** Opens all agendas: the lists of due work in Redis, which all processes share. */
export function createAgendas(redis: RedisClient, prefix: string, logger: Logger): Agendas {
  const open = (name: AgendaName): OpenedAgenda => {
    const agenda = new RedisAgenda(redis, prefix, name);
    return { agenda, scheduler: new BackgroundTaskScheduler(agenda, logger) };
  };
  return { poll: open('poll'), relay: open('relay'), dispatch: open('dispatch'), schedule: open('schedule') };
}
