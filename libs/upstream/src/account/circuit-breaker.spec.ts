import { describe, expect, it } from '@jest/globals';
import { FAILURES_UNTIL_BREAKER_OPENS, CircuitBreaker } from './circuit-breaker.js';
import { BudgetExhaustedError } from '../budget/request-budget.js';
import {
  UpstreamRequestNotSentError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnavailableError,
} from '../upstream-error.js';

const refused = (): Promise<never> => Promise.reject(new UpstreamStatusError(500, 'busy', undefined));

async function refuse(circuit: CircuitBreaker, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await expect(circuit.run(refused)).rejects.toThrow(UpstreamStatusError);
}

/** Starts this many requests, which wait until the test ends them. */
function waiting(circuit: CircuitBreaker, count: number): { answer: () => Promise<unknown> } {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const requests = Array.from({ length: count }, () => circuit.run(() => gate));
  return {
    answer: () => {
      release();
      return Promise.all(requests);
    },
  };
}

describe('a circuit breaker', () => {
  it('opens after five consecutive failures', async () => {
    const circuit = new CircuitBreaker();
    await refuse(circuit, FAILURES_UNTIL_BREAKER_OPENS - 1);
    expect(circuit.isOpen()).toBe(false);
    await refuse(circuit, 1);
    expect(circuit.isOpen()).toBe(true);
  });

  it.each([
    new UpstreamRequestNotSentError(),
    new UpstreamUnavailableError('an outage'),
    new BudgetExhaustedError(1_000),
    new Error('Redis is away'),
  ])('opens after consecutive failures even if requests between them were not sent: %s', async (error) => {
    const circuit = new CircuitBreaker();
    await refuse(circuit, FAILURES_UNTIL_BREAKER_OPENS - 1);
    await expect(circuit.run(() => Promise.reject(error))).rejects.toBe(error);
    expect(circuit.isOpen()).toBe(false);
    await refuse(circuit, 1);
    expect(circuit.isOpen()).toBe(true);
  });

  it('stays closed while the number of 5xx failures is lower than the number of requests that still wait for an answer', async () => {
    const circuit = new CircuitBreaker();
    const slow = waiting(circuit, 3 * FAILURES_UNTIL_BREAKER_OPENS);
    await refuse(circuit, 2 * FAILURES_UNTIL_BREAKER_OPENS);
    expect(circuit.isOpen()).toBe(false);
    await slow.answer();
    await refuse(circuit, FAILURES_UNTIL_BREAKER_OPENS - 1);
    expect(circuit.isOpen()).toBe(false);
  });

  it('opens when the number of consecutive 5xx failures reaches the number of requests that still wait for an answer', async () => {
    const circuit = new CircuitBreaker();
    const slow = waiting(circuit, 3 * FAILURES_UNTIL_BREAKER_OPENS);
    await refuse(circuit, 3 * FAILURES_UNTIL_BREAKER_OPENS);
    expect(circuit.isOpen()).toBe(true);
    await slow.answer();
  });

  it('stays open if it is reset as of a time before it opened, and closes if it is reset as of a later time', async () => {
    const circuit = new CircuitBreaker();
    const before = performance.now();
    await refuse(circuit, FAILURES_UNTIL_BREAKER_OPENS);
    circuit.reset(before);
    expect(circuit.isOpen()).toBe(true);
    circuit.reset();
    expect(circuit.isOpen()).toBe(false);
  });

  it('does not count failures of requests that it admitted before it was reset', async () => {
    const circuit = new CircuitBreaker();
    const silent: ((error: Error) => void)[] = [];
    const running = Array.from({ length: 2 * FAILURES_UNTIL_BREAKER_OPENS }, () =>
      circuit.run(() => new Promise<never>((_, reject) => silent.push(reject))),
    );
    const ends = Promise.allSettled(running);
    const fail = async (from: number, to: number): Promise<void> => {
      for (const reject of silent.slice(from, to)) reject(new UpstreamTimeoutError(1_000));
      await Promise.allSettled(running.slice(from, to));
    };
    await fail(0, FAILURES_UNTIL_BREAKER_OPENS);
    expect(circuit.isOpen()).toBe(true);
    circuit.reset();
    await fail(FAILURES_UNTIL_BREAKER_OPENS, 2 * FAILURES_UNTIL_BREAKER_OPENS);
    await ends;
    await refuse(circuit, 1);
    expect(circuit.isOpen()).toBe(false);
  });

  it('opens after consecutive requests without any answer, even if many other requests are still running', async () => {
    const circuit = new CircuitBreaker();
    const slow = waiting(circuit, 3 * FAILURES_UNTIL_BREAKER_OPENS);
    const silent = (): Promise<never> => Promise.reject(new UpstreamTimeoutError(1_000));
    for (let i = 1; i <= FAILURES_UNTIL_BREAKER_OPENS; i += 1) {
      expect(circuit.isOpen()).toBe(false);
      await expect(circuit.run(silent)).rejects.toThrow(UpstreamTimeoutError);
    }
    expect(circuit.isOpen()).toBe(true);
    await slow.answer();
  });
});
