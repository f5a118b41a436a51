import type { Command } from 'commander';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { type Finding, warning } from '../doctor/finding.js';
import { checkGateway, type GatewayAddress, noGateway } from '../doctor/gateway-checks.js';
import { ExitCode } from '../exit-code.js';
import { CommandFault } from '../failure.js';
import type { Tone } from '../output/output.js';
import { printable } from '../output/printable.js';
import { DEFAULT_URL, originOf } from '../settings/connection.js';

const MARKS: Readonly<Record<Finding['state'], readonly [Tone, string]>> = {
  ok: ['good', 'ok      '],
  warning: ['warning', 'warning '],
  problem: ['bad', 'PROBLEM '],
};

/** Adds `doctor`. */
export function addDoctor(program: Command, terminal: Terminal): void {
  program
    .command('doctor')
    .description('find out what is wrong, and what to do about it')
    .addHelpText(
      'after',
      `
Checks the gateway: that it answers, what its readiness reports, the API key, clocks, sends and webhooks.
Where the variables of an installation are set (REDIS_URL), as in its containers, also checks these variables,
Redis, the encryption key, the blob store and the messaging service:
  docker compose exec gateway tidings doctor

Exit code 0 if there is no problem; warnings are no problem.`,
    )
    .action(action(terminal, doctor));
}

async function doctor(context: CommandContext): Promise<ExitCode> {
  const { environment } = context.terminal;
  const findings: Finding[] = [];
  const isInstallation = (environment['REDIS_URL'] ?? '') !== '';
  if (isInstallation) {
    // Loaded only here, because these modules take longer to load than most commands to run.
    const { checkInstallation } = await import('../doctor/installation-checks.js');
    findings.push(...(await checkInstallation(environment)));
  }
  findings.push(...(await checkReachableGateway(context, isInstallation)));
  for (const finding of findings) show(context, finding);
  const problems = findings.filter(({ state }) => state === 'problem').length;
  if (!context.output.isJson)
    context.output.line(
      problems === 0
        ? 'No problem found.'
        : problems === 1
          ? '1 problem found.'
          : `${problems} problems found.`,
    );
  return problems === 0 ? ExitCode.success : ExitCode.failure;
}

async function checkReachableGateway(context: CommandContext, isInstallation: boolean): Promise<Finding[]> {
  const { environment } = context.terminal;
  const isNamed = [context.givenUrl, context.givenProfile, environment['TIDINGS_URL']].some(
    (each) => (each ?? '') !== '',
  );
  if (!isInstallation || isNamed) return await checkGateway(await addressOf(context));
  const apiKey = environment['API_KEY'];
  const url = `http://127.0.0.1:${environment['PORT'] || '3000'}`;
  const found = await checkGateway({ url, apiKey });
  // In the container of a worker there is no gateway.
  const isAbsent = found[0]?.text === noGateway(url).text;
  return isAbsent
    ? [
        warning(
          'gateway',
          `none answers at ${url}, so its readiness is not checked`,
          'run doctor beside a gateway, or name one with --url',
        ),
      ]
    : found;
}

/** Returns the selected gateway. A missing key is a finding here, no failure. */
async function addressOf(context: CommandContext): Promise<GatewayAddress> {
  try {
    return await context.connection();
  } catch (error) {
    if (!(error instanceof CommandFault) || error.exitCode !== ExitCode.unauthenticated) throw error;
    return {
      url: originOf(context.givenUrl ?? (context.terminal.environment['TIDINGS_URL'] || DEFAULT_URL)),
      apiKey: undefined,
    };
  }
}

function show({ output }: CommandContext, finding: Finding): void {
  output.result(finding, () => {
    const [tone, mark] = MARKS[finding.state];
    const line = `${output.styled(tone, mark)}${output.styled('strong', printable(finding.check))}: ${printable(finding.text)}`;
    return finding.remedy === undefined ? line : `${line}\n        -> ${printable(finding.remedy)}`;
  });
}
