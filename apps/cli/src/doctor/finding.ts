/** The result of one check of `doctor`. */
export interface Finding {
  /** What was checked, for example `Redis`. */
  check: string;
  /** `ok`; `problem` if something does not work; `warning` if it works but needs attention. */
  state: 'ok' | 'warning' | 'problem';
  /** What was found. */
  text: string;
  /** What to do. Absent for `ok`. */
  remedy?: string;
}

/** Returns the finding that nothing is wrong. */
export function fine(check: string, text: string): Finding {
  return { check, state: 'ok', text };
}

/** Returns the finding that something does not work. */
export function problem(check: string, text: string, remedy: string): Finding {
  return { check, state: 'problem', text, remedy };
}

/** Returns the finding that something works, but needs attention. */
export function warning(check: string, text: string, remedy: string): Finding {
  return { check, state: 'warning', text, remedy };
}
