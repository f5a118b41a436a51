import { TidingsConnectionError, TidingsError } from '#client';
import { printable } from './output/printable.js';
import { ExitCode } from './exit-code.js';

/** The command failed for a reason that the user can remove. The message names the reason and often the remedy. */
export class CommandFault extends Error {
  constructor(
    message: string,
    readonly exitCode: ExitCode = ExitCode.usage,
  ) {
    super(message);
    this.name = 'CommandFault';
  }
}

/** The gateway has stored a send, but the command ended before the send reached the status of the option `--wait`. */
export class StoredSendFault extends Error {
  constructor(
    readonly sendId: string,
    override readonly cause: unknown,
  ) {
    super(`the wait for the send ${sendId} has ended`);
    this.name = 'StoredSendFault';
  }
}

/** A request to send failed, but the gateway may have stored the send. */
export class UnconfirmedSendFault extends Error {
  constructor(
    readonly idempotencyKey: string,
    override readonly cause: unknown,
  ) {
    super('the gateway has not confirmed the send');
    this.name = 'UnconfirmedSendFault';
  }
}

/** What the user sees of an error, and the exit code of the process. */
export interface Failure {
  exitCode: ExitCode;
  /** One line per fact; the first one says what is wrong. */
  lines: string[];
  /** The same facts for programs, as `--json` prints them to standard error. */
  details: {
    error: string;
    code?: string;
    status?: number;
    requestId?: string;
    fields?: readonly object[];
    sendId?: string;
    idempotencyKey?: string;
  };
}

/** Describes an error of a command for the user. */
export function failureOf(error: unknown): Failure {
  if (error instanceof TidingsError) return rejection(error);
  if (error instanceof StoredSendFault) {
    const { sendId } = error;
    const advice = `The gateway has stored the send. To see it: tidings sends show ${sendId}`;
    return withAdvice(error.cause, advice, { sendId });
  }
  if (error instanceof UnconfirmedSendFault) {
    const { idempotencyKey } = error;
    const advice = `The gateway may have stored the send. To repeat the command without sending twice, add: --idempotency-key ${idempotencyKey}`;
    return withAdvice(error.cause, advice, { idempotencyKey });
  }
  const message = printable(error instanceof Error ? error.message : String(error));
  if (error instanceof TidingsConnectionError)
    return {
      exitCode: ExitCode.unreachable,
      lines: [message, 'Check the address (--url, TIDINGS_URL or the profile) and that the gateway runs.'],
      details: { error: message, code: 'unreachable' },
    };
  return {
    exitCode: error instanceof CommandFault ? error.exitCode : ExitCode.failure,
    lines: [message],
    details: { error: message },
  };
}

function withAdvice(cause: unknown, advice: string, more: Partial<Failure['details']>): Failure {
  const { exitCode, lines, details } = failureOf(cause);
  return { exitCode, lines: [...lines, advice], details: { ...details, ...more } };
}

function rejection({ message, code, status, requestId, fields }: TidingsError): Failure {
  const text = printable(message);
  const lines = [text, ...fields.map(({ field, message: why }) => printable(`  ${field}: ${why}`))];
  if (status === 401) lines.push('Sign in with `tidings login`, or set TIDINGS_API_KEY.');
  if (requestId !== undefined) lines.push(printable(`Request id: ${requestId}`));
  return {
    exitCode: status === 401 || status === 403 ? ExitCode.unauthenticated : ExitCode.failure,
    lines,
    details: {
      error: text,
      code,
      status,
      ...(requestId === undefined ? {} : { requestId }),
      ...(fields.length === 0 ? {} : { fields }),
    },
  };
}
