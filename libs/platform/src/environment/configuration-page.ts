import { type VariableDescription, variableDescriptionsOf } from './variable-description.js';
import {
  CommonEnvironment,
  GatewayEnvironment,
  SecretsEnvironment,
  WorkerEnvironment,
} from './environment.js';

const GROUPS = [
  { title: 'Gateway and worker', shapes: [SecretsEnvironment, CommonEnvironment] },
  { title: 'Gateway', shapes: [GatewayEnvironment] },
  { title: 'Worker', shapes: [WorkerEnvironment] },
] as const;

/** Suffixes of variable names, each with the unit of the variables that have this suffix. */
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/_MS$/, 'ms'],
  [/_SECONDS$/, 's'],
  [/_HOURS$/, 'h'],
  [/_BYTES$/, 'bytes'],
  [/_PER_SECOND$/, 'requests per second'],
  [/_PER_MINUTE$/, 'requests per minute'],
];

const INTRODUCTION = `# Configuration

<!-- Generated from libs/platform by \`npm run docs:configuration\`. Do not edit by hand. -->

Every process reads its environment once, at start. If a value is missing or invalid, the process prints one line per fault (name, problem, example) and exits with status 78. An empty variable counts as not set. Secrets are never logged.

A variable that is not in these tables but looks like one of them, such as \`UPSTEAM_BASE_URL\`, has no effect. At start, the gateway and worker log a warning with its name and the most similar known name. Under Docker Compose, there is no warning: only known names are passed on from \`.env\` to the containers.

\`npm start\` sets everything that has no default; with your own \`UPSTREAM_BASE_URL\`, set \`UPSTREAM_API_KEY\` too. Under Docker Compose every variable of these tables can be set in \`.env\`, except \`HOST\`, \`WORKER_HOST\` and \`WORKER_PORT\`, which the image or the compose file sets; \`PORT\` is the published port.`;

const AWS = `## Variables of the AWS SDK

With \`BLOB_STORE=s3://…\` the AWS SDK reads \`AWS_REGION\`, \`AWS_ACCESS_KEY_ID\`, \`AWS_SECRET_ACCESS_KEY\` and its other variables (profiles, roles of the machine) itself. Under Docker Compose, those that \`docker-compose.yml\` does not name need a [\`docker-compose.override.yml\`](operations.md#more-machines).`;

const NODE = `## Variables of Node.js

If Redis (\`rediss://\`), upstream, S3 or a webhook receiver has a certificate of your own CA, set \`NODE_EXTRA_CA_CERTS\` to the path of a PEM file with the certificate of this CA. Under Docker Compose, also mount the file into \`gateway\` and \`worker\`, with a [\`docker-compose.override.yml\`](operations.md#more-machines).

\`HTTP_PROXY\` and \`HTTPS_PROXY\` have no effect: Tidings connects directly to upstream and to webhook receivers.`;

/** Returns the full text of docs/configuration.md. */
export function renderConfigurationDocument(): string {
  const tables = GROUPS.map(({ title, shapes }) => `## ${title}\n\n${tableOf(shapes)}`);
  return `${[INTRODUCTION, ...tables, AWS, NODE].join('\n\n')}\n`;
}

function tableOf(shapes: readonly (new () => object)[]): string {
  const rows = shapes.flatMap((shape) => {
    const defaults = new Map<string, unknown>(Object.entries(new shape()));
    return [...variableDescriptionsOf(shape)].map(([name, description]) =>
      rowOf(name, description, defaults.get(name)),
    );
  });
  return [
    '| variable | default | unit | bounds | meaning |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

function rowOf(name: string, { validText, meaning, notBelow }: VariableDescription, value: unknown): string {
  const bounds = notBelow === undefined ? validText : `${validText}; not below \`${notBelow}\``;
  const cells = [`\`${name}\``, defaultOf(value), unitOf(name), bounds, meaning];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function unitOf(name: string): string {
  return UNITS.find(([end]) => end.test(name))?.[1] ?? '–';
}

/**
 * Returns the table cell for a default value: the text to which a user would set the variable, or `empty`. For a
 * variable without a default value, the cell says `required`.
 */
function defaultOf(value: unknown): string {
  if (value === undefined) return '**required**';
  const text = textOf(value);
  return text === '' ? 'empty' : `\`${text}\``;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'object' && value !== null && 'directory' in value)
    return `file:${String(value.directory)}`;
  return String(value);
}
