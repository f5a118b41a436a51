import type { Command } from 'commander';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { type Finding, warning } from '../doctor/finding.js';
import { checkGateway, type GatewayAddress } from '../doctor/gateway-checks.js';
import { ExitCode } from '../exit-code.js';
import { CommandFault } from '../failure.js';
import type { Tone } from '../output/output.js';
import { printable } from '../output/printable.js';
import { localUrlOf, originOf } from '../settings/connection.js';

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
    .option(
      '--bundle [file]',
      'also write a support bundle, which contains no secrets, to a new file; - prints only the bundle',
    )
    .addHelpText(
      'after',
      `
Checks the gateway: that it answers, what its readiness reports, the API key, clocks, sends and webhooks.
Where the environment variables of an installation such as REDIS_URL are set, as in its containers, also checks
these variables, Redis, the encryption key, the blob store and the messaging service:
  docker compose exec gateway tidings doctor

Exit code 0 if no problem is found, even if there are warnings.`,
    )
    .action(action(terminal, doctor));
}

async function doctor(context: CommandContext, { bundle }: { bundle?: string | true }): Promise<ExitCode> {
  const { environment } = context.terminal;
  const findings: Finding[] = [];
  const isInstallation = hasInstallation(environment);
  if (isInstallation) {
    // Loaded only here, because loading these modules takes longer than most commands run.
    const { checkInstallation } = await import('../doctor/installation-checks.js');
    findings.push(...(await checkInstallation(environment)));
  }
  findings.push(...(await checkReachableGateway(context, isInstallation)));
  const problems = findings.filter(({ state }) => state === 'problem').length;
  if (bundle === '-') {
    await writeBundle(context, bundle, isInstallation, findings);
    return problems === 0 ? ExitCode.success : ExitCode.failure;
  }
  for (const finding of findings) show(context, finding);
  if (bundle !== undefined)
    await writeBundle(context, bundle === true ? newBundleName() : bundle, isInstallation, findings);
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

/**
 * Returns true if the environment variables describe an installation. In a checkout, `REDIS_URL` alone is not enough:
 * `npm start` can use that Redis, and stores the keys in its data directory.
 */
function hasInstallation(environment: NodeJS.ProcessEnv): boolean {
  const isSet = (name: string): boolean => (environment[name] ?? '') !== '';
  return isSet('REDIS_URL') && (isSet('ENCRYPTION_KEY') || !isSet('TIDINGS_CHECKOUT_DATA'));
}

/** Returns a file name with the current time, so that nobody mistakes an old bundle for the new one. */
function newBundleName(): string {
  return `tidings-diagnosis-${new Date().toISOString().replace(/[-:.]/g, '')}.json`;
}

async function writeBundle(
  context: CommandContext,
  file: string,
  isInstallation: boolean,
  findings: readonly Finding[],
): Promise<void> {
  // Loaded only here, because loading this module takes longer than most commands run.
  const { supportBundleOf, writeSupportBundle } = await import('../doctor/support-bundle.js');
  const gateway = await gatewayToCheck(context, isInstallation);
  const sources = { environment: context.terminal.environment, findings, gateway };
  if (file === '-') {
    context.output.line(await supportBundleOf(sources));
    return;
  }
  try {
    await writeSupportBundle(file, sources);
  } catch (error) {
    throw new CommandFault(
      `cannot write ${file}: ${error instanceof Error ? error.message : String(error)}`,
      ExitCode.failure,
    );
  }
  context.output.note(`Wrote ${file}. It contains no secret and no text of a message.`);
}

/** Returns true if the gateway to check is that of the installation, because the user has selected no other. */
function isOwnGateway({ selected }: CommandContext, isInstallation: boolean): boolean {
  return isInstallation && selected.url === undefined && selected.profile === undefined;
}

async function gatewayToCheck(context: CommandContext, isInstallation: boolean): Promise<GatewayAddress> {
  if (!isOwnGateway(context, isInstallation)) return addressOf(context);
  // Loaded only here, because loading this module takes longer than most commands run.
  const { addressFor } = await import('#platform');
  const { environment } = context.terminal;
  const url = addressFor(environment['HOST'], environment['PORT'] || '3000');
  const apiKey = environment['API_KEY'] || environment['TIDINGS_API_KEY'];
  return { url, apiKey: apiKey || undefined };
}

async function checkReachableGateway(context: CommandContext, isInstallation: boolean): Promise<Finding[]> {
  const gateway = await gatewayToCheck(context, isInstallation);
  if (!isOwnGateway(context, isInstallation)) return await checkGateway(gateway);
  // A gateway that does not answer is only a warning here: in the container of a worker, none runs.
  return await checkGateway(gateway, (url, why) =>
    warning(
      'gateway',
      `no gateway answers at ${url}, so its readiness is not checked: ${why}`,
      'run doctor where a gateway runs, or select a gateway with --url',
    ),
  );
}

/** Returns the selected gateway. A missing API key does not make the command fail, because the checks report it. */
async function addressOf(context: CommandContext): Promise<GatewayAddress> {
  try {
    return await context.connection();
  } catch (error) {
    if (!(error instanceof CommandFault) || error.exitCode !== ExitCode.unauthenticated) throw error;
    const { selected, terminal } = context;
    return { url: originOf(selected.url ?? localUrlOf(terminal.environment)), apiKey: undefined };
  }
}

function show({ output }: CommandContext, finding: Finding): void {
  output.result(finding, () => {
    const [tone, mark] = MARKS[finding.state];
    const line = `${output.styled(tone, mark)}${output.styled('strong', printable(finding.check))}: ${printable(finding.text)}`;
    return finding.remedy === undefined ? line : `${line}\n        -> ${printable(finding.remedy)}`;
  });
}
