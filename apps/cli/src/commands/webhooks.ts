import type { Command } from 'commander';
import type {
  CreatedWebhook,
  NewWebhook,
  RotatedSecret,
  SigningSecret,
  StartedTest,
  Webhook,
  WebhookChanges,
  WebhookList,
} from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { ago } from '../output/duration.js';
import { CommandFault } from '../failure.js';
import { collect, header, numberFrom, onOrOff, wholeNumber } from '../settings/option-values.js';
import { addDefaultList } from './default-list.js';
import { addDelete, addShow } from './show-and-delete.js';

interface WebhookOptions {
  types?: string[];
  contacts?: string[];
  description?: string;
  header?: Record<string, string>;
  maxConcurrency?: number;
  rateLimit?: number;
  ordered?: boolean;
}

interface WebhookChangeOptions extends WebhookOptions {
  newUrl?: string;
}

/** Adds `webhooks`: create, list, show, update, test, rotate, enable, disable and delete. */
export function addWebhooks(program: Command, terminal: Terminal): void {
  const webhooks = program
    .command('webhooks')
    .description('create, list, change and test webhooks, and rotate their secrets');
  addDefaultList(webhooks, 'list the webhooks with their state').action(action(terminal, listWebhooks));
  withSettings(
    webhooks.command('create').argument('<url>').description('create a webhook; prints its signing secret'),
  ).action(
    action(terminal, async (context, url: string, options: WebhookOptions) => {
      const created = (await context.call('POST', '/v1/webhooks', {
        url,
        ...settingsOf(options),
      } satisfies NewWebhook)) as CreatedWebhook;
      context.output.result(created, `Created ${created.id}.\nSigning secret: ${created.secret}`);
      return undefined;
    }),
  );
  addShow(webhooks, terminal, '/v1/webhooks', 'show a webhook');
  withSettings(
    webhooks
      .command('update')
      .argument('<id>')
      .description('change a webhook')
      // Not named `--url`: that option is the address of the gateway, and after a mistake the API key would be sent
      // to the receiver.
      .option('--new-url <url>', 'new address'),
  ).action(
    action(terminal, async (context, id: string, { newUrl, ...options }: WebhookChangeOptions) => {
      const url = newUrl === undefined ? {} : { url: newUrl };
      const changes: WebhookChanges = { ...settingsOf(options), ...url };
      if (Object.keys(changes).length === 0)
        throw new CommandFault('name at least one change, for example --new-url');
      context.output.fields((await context.call('PATCH', pathOf(id), changes)) as Webhook);
      return undefined;
    }),
  );
  for (const enabled of [true, false]) {
    const [verb, done] = enabled ? ['enable', 'enabled'] : ['disable', 'disabled'];
    webhooks
      .command(verb)
      .argument('<id>')
      .description(
        enabled
          ? 'deliver new events again; ends a pause'
          : 'deliver nothing; pending deliveries fail, and can be replayed',
      )
      .action(
        action(terminal, async (context, id: string) => {
          const webhook = (await context.call('PATCH', pathOf(id), {
            enabled,
          } satisfies WebhookChanges)) as Webhook;
          context.output.result(webhook, `${webhook.id} is ${done}.`);
          return undefined;
        }),
      );
  }
  webhooks
    .command('test')
    .argument('<id>')
    .description('deliver a webhook.test event')
    .action(
      action(terminal, async (context, id: string) => {
        const test = (await context.call('POST', `${pathOf(id)}/test`)) as StartedTest;
        context.output.result(test, `Started. See the result: tidings deliveries show ${test.deliveryId}`);
        return undefined;
      }),
    );
  webhooks
    .command('secret')
    .argument('<id>')
    .description('print the signing secret')
    .action(
      action(terminal, async (context, id: string) => {
        const found = (await context.call('GET', `${pathOf(id)}/secret`)) as SigningSecret;
        context.output.result(found, found.secret);
        return undefined;
      }),
    );
  webhooks
    .command('rotate')
    .argument('<id>')
    .description('create a new signing secret')
    .option(
      '--overlap <seconds>',
      'time for which the previous secrets stay valid',
      wholeNumber(0, 2_592_000),
    )
    .action(
      action(terminal, async (context, id: string, { overlap }: { overlap?: number }) => {
        const body = overlap === undefined ? {} : { overlapSeconds: overlap };
        const rotated = (await context.call('POST', `${pathOf(id)}/rotate-secret`, body)) as RotatedSecret;
        context.output.result(
          rotated,
          `New signing secret: ${rotated.secret}\nThe previous secrets are valid until ${rotated.previousExpireAt}.`,
        );
        return undefined;
      }),
    );
  addDelete(webhooks, terminal, '/v1/webhooks', {
    name: 'delete',
    description: 'delete a webhook with its deliveries',
    question: (id) => `Delete the webhook ${id} with its deliveries?`,
    done: 'deleted',
  });
}

/** Adds the options for creating or changing a webhook. */
function withSettings(command: Command): Command {
  return command
    .option('--types <types>', 'event types to deliver, for example message.*,send.failed', collect)
    .option('--contacts <ids>', 'contacts whose events are delivered', collect)
    .option('--description <text>', 'a text for people')
    .option('--header <name: value>', 'HTTP header to add to each request; repeatable', header)
    .option('--max-concurrency <count>', 'maximum number of simultaneous requests', wholeNumber(1, 1_000))
    .option(
      '--rate-limit <count>',
      'maximum number of requests per second on average, for example 0.5',
      numberFrom(0.01, 10_000),
    )
    .option('--ordered <on|off>', 'deliver the events of each contact in order', onOrOff);
}

function settingsOf(options: WebhookOptions): Omit<WebhookChanges & NewWebhook, 'url'> {
  const { types, contacts, description, header: headers, maxConcurrency, rateLimit, ordered } = options;
  return {
    ...(types === undefined ? {} : { eventTypes: types }),
    ...(contacts === undefined ? {} : { contactIds: contacts }),
    ...(description === undefined ? {} : { description }),
    ...(headers === undefined ? {} : { headers }),
    ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    ...(rateLimit === undefined ? {} : { rateLimitPerSecond: rateLimit }),
    ...(ordered === undefined ? {} : { ordered }),
  };
}

async function listWebhooks(context: CommandContext): Promise<undefined> {
  const { webhooks } = await context.read<WebhookList>('/v1/webhooks', 'webhooks');
  await context.output.list(
    webhooks,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'STATE', value: stateOf },
      {
        title: 'PENDING',
        // A gateway of an earlier build omits `waitingSince` and `pausedUntil`.
        value: ({ pending, waitingSince }) =>
          typeof waitingSince === 'string' ? `${pending}, more waiting since ${ago(waitingSince)}` : pending,
      },
      { title: 'LAST SUCCESS', value: ({ lastSuccessAt }) => ago(lastSuccessAt) },
      { title: 'TYPES', value: ({ eventTypes }) => eventTypes?.join(', ') ?? 'all' },
      { title: 'URL', value: ({ url }) => url },
    ],
    Number.POSITIVE_INFINITY,
  );
}

function stateOf({ enabled, disabledReason, failingSince, pausedUntil }: Webhook): string {
  if (!enabled) return disabledReason === null ? 'disabled' : `disabled: ${disabledReason}`;
  const state = failingSince === null ? 'ok' : `failing since ${ago(failingSince)}`;
  return typeof pausedUntil === 'string' ? `${state}, paused until ${pausedUntil}` : state;
}

function pathOf(id: string): string {
  return `/v1/webhooks/${encodeURIComponent(id)}`;
}
