import { describe, expect, it } from '@jest/globals';
import { type CallObservers, observeMethodCalls } from './observe-method-calls.js';

class Store {
  #count = 0;

  add(by: number): Promise<number> {
    this.#count += by;
    return Promise.resolve(this.#count);
  }

  async addTwice(by: number): Promise<number> {
    await this.add(by);
    return this.add(by);
  }

  fail(): Promise<never> {
    return Promise.reject(new Error('broken'));
  }

  get count(): number {
    return this.#count;
  }
}

describe('an object whose calls are observed', () => {
  it('behaves like the object without observers, even with private fields and getters', async () => {
    const store = observeMethodCalls(new Store(), { add: () => undefined });
    expect(await store.add(2)).toBe(2);
    expect(await store.addTwice(3)).toBe(8);
    expect(store.count).toBe(8);
    await expect(store.fail()).rejects.toThrow('broken');
  });

  it('reports the parameters, outcome and duration of each call, even of a failed call, but not of calls between its own methods', async () => {
    const calls: unknown[] = [];
    const note = (call: object): void => {
      calls.push(call);
    };
    const observers: CallObservers<Store> = { add: note, fail: note };
    const store = observeMethodCalls(new Store(), observers);
    await store.add(2);
    await store.addTwice(1);
    await expect(store.fail()).rejects.toThrow('broken');
    const seconds = expect.any(Number);
    expect(calls).toEqual([
      { parameters: [2], outcome: { result: 2 }, seconds },
      { parameters: [], outcome: { error: new Error('broken') }, seconds },
    ]);
  });
});
