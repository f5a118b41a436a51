import { type Environment, isSet } from './plan.js';

export interface Addresses {
  gateway: string;
  worker: string;
  /** Left out where an upstream of the user's is used. */
  simulator?: string;
}

/** What somebody who has just started everything wants to know. `apiKey` is undefined where the user set it. */
export function greeting(addresses: Addresses, apiKey: string | undefined): string {
  const rows = [
    ['Gateway', addresses.gateway],
    ['API docs', `${addresses.gateway}/docs`],
    ...(addresses.simulator === undefined ? [] : [['Phone page', `${addresses.simulator}/`]]),
    ['Worker', `${addresses.worker}/health/ready`],
    ['API key', apiKey ?? 'the one in API_KEY'],
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
    'Ctrl-C stops all of it; the next npm start goes on from there.',
    '',
  ].join('\n');
}

function firstCommand(gateway: string, apiKey: string | undefined): string {
  const header = apiKey === undefined ? '"X-API-Key: $API_KEY"' : `'X-API-Key: ${apiKey}'`;
  const body = JSON.stringify({ phoneNumber: '+15551230001', message: 'Hello from Tidings' });
  return `curl -sS ${gateway}/v1/messages/send -H ${header} -H 'Content-Type: application/json' -d '${body}'`;
}

/** What is started, in one line: neither Redis nor the simulator where others are named. */
export function announcement(environment: Environment): string {
  const started = [
    ...(isSet(environment, 'REDIS_URL') ? [] : ['Redis']),
    ...(isSet(environment, 'UPSTREAM_BASE_URL') ? [] : ['the simulator']),
    'the gateway',
  ];
  return `Starting ${started.join(', ')} and the worker …`;
}
