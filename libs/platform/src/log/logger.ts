import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { loggedError } from './logged-error.js';

/** One line of JSON an entry. Message texts and secrets are never given to it. */
export type Logger = PinoLogger;

/** Fields that are blanked where a careless call puts them: in an entry, or up to two levels down in it. */
const SECRETS = ['apiKey', 'secret', 'password', 'authorization', '["x-api-key"]', 'message', 'text'];

/** A logger to standard output. `name` is the process: gateway, worker. */
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
    serializers: { err: (error: unknown) => loggedError(error) },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return pino(options, destination ?? standardOutput);
}

/**
 * Standard output by Node's own stream. Pino's writer would try again for ever, and block the process, once the reader of
 * a pipe is gone; here such a line is lost, and the process goes on.
 */
const standardOutput: DestinationStream = {
  write: (line) => {
    process.stdout.write(line);
  },
};
