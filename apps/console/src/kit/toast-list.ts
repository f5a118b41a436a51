import type { ErrorText } from './text.js';

/** A message about what was done, or an error. */
export interface Toast {
  id: number;
  text: string;
  error?: ErrorText;
}

/** Maximum number of messages, and also of errors. */
const MAX_OF_A_KIND = 4;

/** Adds a message. If this exceeds the maximum, the oldest message of the same kind is dropped. */
export function withToast(shown: readonly Toast[], toast: Toast): readonly Toast[] {
  const isError = toast.error !== undefined;
  const ofKind = shown.filter(({ error }) => (error !== undefined) === isError);
  const dropped = ofKind.length < MAX_OF_A_KIND ? undefined : ofKind[0];
  return [...shown.filter((each) => each !== dropped), toast];
}
