import { createSimulator } from './create-simulator.js';
import type { Simulator } from './create-simulator.js';
import type { Environment } from './environment.js';
import { readEnvironment } from './environment.js';
import { CorruptState } from './state/corrupt-state.js';
import { codeOf, messageOf } from './error-properties.js';

/** Exit status for an invalid configuration (EX_CONFIG of sysexits.h). */
const EXIT_CONFIG = 78;
/** Maximum duration of a shutdown, in milliseconds. Then the process exits, for example if the disk hangs. */
const SHUTDOWN_DEADLINE_MS = 10_000;

async function main(): Promise<void> {
  const read = readEnvironment(process.env);
  if ('faults' in read) {
    fail(read.faults);
    return;
  }
  const { environment } = read;
  const simulator = await start(environment);
  if (simulator === null) return;
  stopOnSignals(simulator);
}

async function start(environment: Environment): Promise<Simulator | null> {
  const { host, port, stateFile, ...options } = environment;
  let simulator: Simulator | null = null;
  try {
    simulator = await createSimulator({ ...options, ...(stateFile === null ? {} : { stateFile }) });
    const address = await simulator.listen({ host, port });
    if (process.send === undefined) console.log(`simulator listening on ${address.url}`);
    else process.send({ type: 'ready', port: address.port });
    return simulator;
  } catch (error) {
    await simulator?.close();
    const line = configurationFault(error, environment);
    if (line === null) throw error;
    fail([line]);
    return null;
  }
}

/** Returns one line for an error that the operator can fix, or null for other errors. */
function configurationFault(error: unknown, { host, port, stateFile }: Environment): string | null {
  if (error instanceof CorruptState) return `SIMULATOR_STATE_FILE ${error.message}`;
  const code = codeOf(error) ?? '';
  switch (code) {
    case 'EADDRINUSE':
      return `SIMULATOR_PORT ${port} is already in use on ${host}; for example SIMULATOR_PORT=${port + 1}`;
    case 'EACCES':
    case 'EROFS':
    case 'EISDIR':
    case 'ENOTDIR':
    case 'EPERM':
      if (error instanceof Error && 'syscall' in error && error.syscall === 'listen')
        return `SIMULATOR_PORT ${port} is not allowed for this user; for example SIMULATOR_PORT=4010`;
      return `SIMULATOR_STATE_FILE ${stateFile ?? ''} cannot be used (${code}); for example SIMULATOR_STATE_FILE=.data/simulator.json`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `SIMULATOR_HOST ${host} is not an address of this machine; for example SIMULATOR_HOST=127.0.0.1`;
    default:
      return null;
  }
}

function stopOnSignals(simulator: Simulator): void {
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    const deadline = setTimeout(() => {
      console.error(`simulator: did not stop within ${SHUTDOWN_DEADLINE_MS} ms, exiting`);
      process.exit(1);
    }, SHUTDOWN_DEADLINE_MS);
    deadline.unref();
    simulator.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(`simulator: ${messageOf(error)}`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // Stop when the parent process has exited.
  if (process.send === undefined) return;
  process.on('disconnect', stop);
  if (!process.connected) stop();
}

function fail(lines: readonly string[]): void {
  for (const line of lines) console.error(line);
  process.exitCode = EXIT_CONFIG;
  if (process.connected) process.disconnect();
}

await main();
