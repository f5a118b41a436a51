import { TidingsError } from '#client';
/** The faults, by the name of the field. */
export type Faults = Readonly<Record<string, string>>;

/**
 * The faults that the API found, by field. `other` is the error itself if the error has no faulty fields, or if the
 * form does not contain one of them.
 */
export interface Rejection {
  faults: Faults;
  other: unknown;
}

/** Assigns the faults in an error of the API to the fields of a form. */
export function rejectionOf(error: unknown, fields: readonly string[]): Rejection {
  if (!(error instanceof TidingsError) || error.fields.length === 0) return { faults: {}, other: error };
  const faults: Record<string, string> = {};
  let isWhole = true;
  for (const { field, message } of error.fields) {
    const name = fields.find(
      (each) => field === each || (/^[.[]/.test(field.slice(each.length)) && field.startsWith(each)),
    );
    if (name === undefined) isWhole = false;
    else faults[name] = sentenceOf(message);
  }
  return { faults, other: isWhole ? undefined : error };
}

/** The API's message continues the name of its field: `must be a number`. */
function sentenceOf(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return text.endsWith('.') ? text : `${text}.`;
}
