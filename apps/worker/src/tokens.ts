// Injection tokens of the worker's providers.

/** The objects that more than one role uses: `WorkerCore`. */
export const CORE = Symbol('core');
/** The objects of the role `relay`: `RelayRole`. */
export const RELAY = Symbol('relay');
/** The objects of the role `poll`: `PollRole`. */
export const POLL = Symbol('poll');
/** The objects of the role `dispatch`: `DispatchRole`. */
export const DISPATCH = Symbol('dispatch');
