// Shifts the clock of a process by SHIFT_CLOCK_MS milliseconds if loaded with `node --import`. Affects only Date;
// timers and performance.now() stay unchanged.
const shift = Number(process.env.SHIFT_CLOCK_MS ?? 0);
const now = Date.now.bind(Date);

Date.now = () => now() + shift;

globalThis.Date = new Proxy(Date, {
  construct: (target, given, newTarget) =>
    /** @type {object} */ (
      Reflect.construct(target, given.length === 0 ? [now() + shift] : given, newTarget)
    ),
});
