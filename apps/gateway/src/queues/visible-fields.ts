/** Maximum length of a text of a job that is shown. */
const MAX_TEXT = 100;

/** Number of last characters that are shown of a recipient's phone number, which may belong to any account. */
const SHOWN_DIGITS = 3;

const HIDDEN = 'The error is not shown here, but in the log of the worker.';

/**
 * Returns a reply of Bull Board without what an operator must not see. Of the data of a job, only its ids and the ends
 * of phone numbers remain. Texts of errors are hidden, because they may quote what a request contained.
 */
export function visibleFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(visibleFields);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, visibleField(name, field)]));
}

function visibleField(name: string, field: unknown): unknown {
  switch (name) {
    case 'data':
      // The values of a metric have this name too. They are a list of numbers.
      return isListOfNumbers(field) ? field : visibleData(field);
    case 'failedReason':
    case 'deferredFailure':
      return field === undefined || field === null || field === '' ? field : HIDDEN;
    case 'stacktrace':
    case 'logs':
      return [];
    case 'returnValue':
    case 'returnvalue':
    case 'ignoredChildFailureReasons':
      return null;
    case 'progress':
      return typeof field === 'number' ? field : 0;
    default:
      return visibleFields(field);
  }
}

/** Returns the fields of a job's data that are known to be harmless; see `QueuePayloads`. */
function visibleData(data: unknown): Record<string, unknown> {
  if (!isObject(data)) return {};
  const { account, endpointId, lane, more } = data;
  return {
    ...(typeof account === 'string' ? { account: account.slice(0, MAX_TEXT) } : {}),
    ...(typeof endpointId === 'string' ? { endpointId: endpointId.slice(0, MAX_TEXT) } : {}),
    ...(typeof lane === 'string' ? { recipient: endOf(lane) } : {}),
    ...(Array.isArray(more) ? { moreRecipients: more.length } : {}),
  };
}

function endOf(phoneNumber: string): string {
  return phoneNumber.length > 2 * SHOWN_DIGITS ? `…${phoneNumber.slice(-SHOWN_DIGITS)}` : '…';
}

function isListOfNumbers(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'number');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
