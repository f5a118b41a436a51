import { type Environment, isSet } from './plan.js';

/** Base addresses of the running processes. */
export interface Addresses {
  gateway: string;
  worker: string;
  /** Undefined if the user configured another upstream. */
  simulator?: string;
}

/**
 * Returns the text printed after a successful start.
 * @param apiKey undefined if the user set the API key
 */
export function greeting(addresses: Addresses, apiKey: string | undefined): string {
  const rows = [
    ['Gateway', addresses.gateway],
    ['Console', `${addresses.gateway}/console`],
    ['API docs', `${addresses.gateway}/docs`],
    ...(addresses.simulator === undefined ? [] : [['Phone page', `${addresses.simulator}/`]]),
    ['Worker', `${addresses.worker}/health/ready`],
    ['API key', apiKey ?? 'the value of the environment variable API_KEY (not shown)'],
    ['State, logs', '.data/'],
  ];
  return [
    '',
    'Tidings is running.',
    '',
    ...rows.map(([title = '', value = '']) => `  ${title.padEnd(12)} ${value}`),
    '',
    'Send a first message:',
    '',
    `  ${firstCommand(addresses.gateway, apiKey)}`,
    '',
    'Press Ctrl-C to stop. The next npm start continues with the same data.',
    '',
  ].join('\n');
}

function firstCommand(gateway: string, apiKey: string | undefined): string {
  const header = apiKey === undefined ? '"X-API-Key: $API_KEY"' : `'X-API-Key: ${apiKey}'`;
  const body = JSON.stringify({ phoneNumber: '+15551230001', message: 'Hello from Tidings' });
  return `curl -sS ${gateway}/v1/messages/send -H ${header} -H 'Content-Type: application/json' -d '${body}'`;
}

/**
 * Returns one line with the processes that are started. Leaves out Redis or the simulator if the user
 * configured another Redis or another upstream.
 */
export function announcement(environment: Environment): string {
  const started = [
    ...(isSet(environment, 'REDIS_URL') ? [] : ['Redis']),
    ...(isSet(environment, 'UPSTREAM_BASE_URL') ? [] : ['the simulator']),
    'the gateway',
  ];
  return `Starting ${started.join(', ')} and the worker …`;
}
