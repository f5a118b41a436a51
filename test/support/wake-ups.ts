import type { AgendaWakeUps } from '#platform';

/** {@link AgendaWakeUps} for tests: the test wakes the listener. */
export class WakeUps implements AgendaWakeUps {
  private listener: ((inMs: number) => void) | undefined;

  constructor(public isReliable = true) {}

  isReceiving(): boolean {
    return this.isReliable;
  }

  listen(onSooner: (inMs: number) => void): void {
    this.listener = onSooner;
  }

  /** Another process scheduled an earlier task. */
  onSooner(inMs: number): void {
    this.listener?.(inMs);
  }
}
