import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { toLoggedError } from './logged-error.js';

/** Logger that writes one line of JSON for each entry. Callers must not pass it message texts or secrets. */
export type Logger = PinoLogger;

/**
 * Names of fields that must not be logged. If a call passes such a field by mistake, `[redacted]` replaces the value.
 * This applies to the top level of an entry and to two levels below.
 */
const SECRETS = [
  'apiKey',
  'token',
  'secret',
  'password',
  'authorization',
  'cookie',
  '["set-cookie"]',
  '["x-api-key"]',
  'message',
  'text',
];

/**
 * Creates a logger that writes to `destination`, or to standard output by default.
 * @param name name of the process: gateway or worker
 */
export function createLogger(name: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    name,
    level,
    redact: {
      paths: SECRETS.flatMap((field) => {
        const below = field.startsWith('[') ? field : `.${field}`;
        return [field, `*${below}`, `*.*${below}`];
      }),
      censor: '[redacted]',
    },
    serializers: { err: (error: unknown) => toLoggedError(error) },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return pino(options, destination ?? standardOutput);
}

/**
 * Writes lines to standard output through Node's own stream. If the program that reads the output has ended,
 * this stream loses the line, and the process continues. Pino's own writer would retry endlessly and block
 * the process.
 */
const standardOutput: DestinationStream = {
  write: (line) => {
    process.stdout.write(line);
  },
};
