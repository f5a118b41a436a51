import { Argument, type Command, Option } from 'commander';
import { type ResolutionResults, type Send, SEND_STATUSES } from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { ExitCode } from '../exit-code.js';
import { ago } from '../output/duration.js';
import { excerpt } from '../output/printable.js';
import { DEFAULT_LIMIT, MAX_LIMIT, wholeNumber } from '../settings/option-values.js';
import { addDefaultList } from './default-list.js';
import { addShow } from './show-and-delete.js';

interface ListOptions {
  status?: Send['status'];
  reference?: string;
  phoneNumber?: string;
  limit: number;
}

/** Adds `sends`: list, show, cancel and resolve. */
export function addSends(program: Command, terminal: Terminal): void {
  const sends = program.command('sends').description('list, show, cancel and resolve sends');
  addDefaultList(sends, 'list sends, newest first')
    .addOption(new Option('--status <status>', 'only sends with this status').choices(SEND_STATUSES))
    .option('--reference <text>', 'only sends with this reference')
    .option('--phone-number <number>', 'only sends to this recipient')
    .option('--limit <count>', 'maximum number of sends', wholeNumber(1, MAX_LIMIT), DEFAULT_LIMIT)
    .action(action(terminal, listSends));
  addShow(sends, terminal, '/v1/sends', 'show a send with its attempts and look-ups');
  sends
    .command('cancel')
    .argument('<id>')
    .description('cancel a scheduled or queued send')
    .action(
      action(terminal, async (context, id: string) => {
        const tidings = await context.client();
        const send = await tidings.cancelSend(id, { signal: context.signal });
        context.output.result(send, `${send.id} is ${send.status}.`);
        return undefined;
      }),
    );
  sends
    .command('resolve')
    .addArgument(
      new Argument('<outcome>', 'resend the sends, or record them as sent or failed').choices([
        'resend',
        'sent',
        'failed',
      ]),
    )
    .argument('<ids...>', 'ids of sends with the status unknown; resend also accepts the status failed')
    .description('decide about sends whose outcome is unknown')
    .addHelpText(
      'after',
      '\nBefore a message is sent again, a look-up checks whether the messaging service already has the message. The recipient may still get the message twice.',
    )
    .action(action(terminal, resolveSends));
}

async function listSends(
  context: CommandContext,
  { limit, status, reference, phoneNumber }: ListOptions,
): Promise<undefined> {
  const tidings = await context.client();
  const filter = {
    ...(status === undefined ? {} : { status }),
    ...(reference === undefined ? {} : { reference }),
    ...(phoneNumber === undefined ? {} : { phoneNumber }),
  };
  await context.output.list(
    tidings.sends({ ...filter, signal: context.readingSignal }),
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'STATUS', value: (send) => send.status },
      { title: 'TO', value: (send) => send.phoneNumber },
      { title: 'CREATED', value: ({ createdAt }) => ago(createdAt) },
      {
        title: 'TEXT',
        value: ({ message, fileUrl, file }) => excerpt(message ?? fileUrl ?? file?.name ?? '', 40),
      },
      { title: 'REASON', value: ({ reason }) => excerpt(reason ?? '', 60) },
    ],
    limit,
  );
}

async function resolveSends(context: CommandContext, outcome: string, ids: string[]): Promise<ExitCode> {
  const answer = (await context.call('POST', '/v1/sends/resolve', { ids, outcome })) as ResolutionResults;
  await context.output.list(
    answer.results,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'STATUS', value: ({ send }) => send?.status },
      { title: 'NOT RESOLVED BECAUSE', value: ({ detail }) => detail },
    ],
    ids.length,
  );
  return answer.results.every(({ resolved }) => resolved) ? ExitCode.success : ExitCode.failure;
}
