/** How to check whether the process in a container is alive. */
export interface ContainerCheck {
  /** Name of the environment variable that contains the port. */
  variable: string;
  /** Port if the variable is not set. */
  port: string;
  path: string;
}

const CHECKS = {
  gateway: { variable: 'PORT', port: '3000', path: '/health/live' },
  worker: { variable: 'WORKER_PORT', port: '3001', path: '/health/live' },
  simulator: { variable: 'SIMULATOR_PORT', port: '4010', path: '/' },
} as const;

/**
 * Returns the check of the process that a container runs.
 * @param command the command of the container; its parts are separated by spaces or zero bytes
 */
export function checkOf(command: string): ContainerCheck {
  const program = /(gateway|worker|simulator)\.js/.exec(command)?.[1];
  return program === 'worker' || program === 'simulator' ? CHECKS[program] : CHECKS.gateway;
}
