// Loaded into a process by `node --import`: its clock is off by SHIFT_CLOCK_MS milliseconds. Only what asks for the date
// sees it; timers and performance.now() run on.
const shift = Number(process.env.SHIFT_CLOCK_MS ?? 0);
const now = Date.now.bind(Date);

Date.now = () => now() + shift;

globalThis.Date = new Proxy(Date, {
  construct: (target, given, newTarget) =>
    /** @type {object} */ (
      Reflect.construct(target, given.length === 0 ? [now() + shift] : given, newTarget)
    ),
});
