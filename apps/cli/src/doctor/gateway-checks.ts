import { type Readiness, type Status, Tidings, TidingsError } from '#client';
import { ago, duration } from '../output/duration.js';
import { fetchFault } from '../fetch-fault.js';
import { fine, type Finding, problem, warning } from './finding.js';

/** Time limit for each answer of the gateway, in milliseconds. */
const TIMEOUT_MS = 10_000;
/** Difference between the clocks of this machine and the gateway from which it is a problem, in milliseconds. */
const MAX_CLOCK_DIFFERENCE_MS = 30_000;
/** Waiting time of a send above which a warning is reported, in milliseconds. */
const OLD_SEND_MS = 600_000;

/** The gateway to check. */
export interface GatewayAddress {
  url: string;
  /** Undefined if no API key is known. Then only the readiness and the clock of the gateway are checked. */
  apiKey: string | undefined;
}

/**
 * Checks a gateway from outside: whether it answers, its readiness, its clock, and the state of the account to which
 * the API key belongs.
 * @param absent returns the finding that no gateway answers at the address; `why` is the reason
 */
export async function checkGateway(
  { url, apiKey }: GatewayAddress,
  absent: (url: string, why: string) => Finding = noGateway,
): Promise<Finding[]> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${url}/health/ready`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'manual',
    });
    text = await response.text();
  } catch (error) {
    return [absent(url, fetchFault(error))];
  }
  const ready = readinessIn(text);
  if (ready === undefined) return [otherProgram(url, response)];
  return [
    fine('gateway', `${url} answers`),
    ...readinessFindings(ready),
    ...clockFindings(response),
    ...(await checkAccount(url, apiKey)),
  ];
}

function noGateway(url: string, why: string): Finding {
  return problem(
    'gateway',
    `no gateway answers at ${url}: ${why}`,
    'start the gateway, or correct the address: --url, TIDINGS_URL or the profile',
  );
}

/** Parses the readiness of a gateway. Returns undefined for any other text. */
function readinessIn(text: string): Readiness | undefined {
  try {
    const body = JSON.parse(text) as Partial<Readiness> | null;
    return Array.isArray(body?.details) ? (body as Readiness) : undefined;
  } catch {
    return undefined;
  }
}

function otherProgram(url: string, { status, headers }: Response): Finding {
  const location = headers.get('location');
  if (location !== null && URL.canParse(location, url))
    return problem(
      'gateway',
      `${url} redirects to ${new URL(location, url).origin}`,
      'use the address to which it redirects: --url, TIDINGS_URL or the profile',
    );
  return problem(
    'gateway',
    `the server at ${url} is not a Tidings gateway: it answered with status ${status}`,
    status === 429 || status >= 500
      ? 'if this is a proxy whose gateway is stopped or overloaded, start the gateway or wait; otherwise correct the address: --url, TIDINGS_URL or the profile'
      : 'correct the address (--url, TIDINGS_URL or the profile), or set PORT of the gateway to a free port',
  );
}

function readinessFindings({ status, reasons, details }: Readiness): Finding[] {
  if (details.length === 0) return [fine('readiness', status)];
  return details.map(({ code, remedy }, index) => {
    const text = (reasons[index] ?? code).replace(`; ${remedy}`, '');
    return problem(`readiness: ${code}`, text, remedy);
  });
}

function clockFindings(response: Response): Finding[] {
  const date = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(date)) return [];
  const difference = Math.abs(Date.now() - date);
  if (difference < MAX_CLOCK_DIFFERENCE_MS) return [fine('clock', 'this machine agrees with the gateway')];
  return [
    problem(
      'clock',
      `this machine and the gateway differ by ${duration(difference)}; receivers of webhooks may reject deliveries whose timestamp seems too old`,
      'synchronize the clocks with NTP',
    ),
  ];
}

async function checkAccount(url: string, apiKey: string | undefined): Promise<Finding[]> {
  const check = 'API key';
  if (apiKey === undefined)
    return [problem(check, 'there is none', 'sign in with `tidings login`, or set TIDINGS_API_KEY')];
  let status: Status;
  try {
    const tidings = new Tidings({ baseUrl: url, apiKey, timeoutMs: TIMEOUT_MS, maxRetries: 0 });
    status = (await tidings.call('GET', '/v1/status')) as Status;
  } catch (error) {
    if (error instanceof TidingsError && error.status === 401)
      return [
        problem(
          check,
          'the gateway does not accept it',
          'sign in again with `tidings login`, or set TIDINGS_API_KEY',
        ),
      ];
    if (error instanceof TidingsError && error.status === 403)
      return [
        warning(
          check,
          'accepted, but it lacks the scope `admin`, so the status of the account is not checked',
          'use a key with the scope `admin`',
        ),
      ];
    const why = error instanceof Error ? error.message : String(error);
    return [
      problem('status', `the status of the account cannot be read: ${why}`, 'look at the log of the gateway'),
    ];
  }
  return [
    fine(check, `accepted, account ${status.account}`),
    ...accountFindings(status),
    ...sendFindings(status),
    ...webhookFindings(status),
  ];
}

function accountFindings({ readiness, poller }: Status): Finding[] {
  const remedies = new Map(readiness.details.map(({ code, remedy }) => [code, remedy]));
  const found = readiness.accounts.map(({ account, code, since, reason }) =>
    problem(
      `account ${account}: ${code}`,
      `since ${ago(since)}: ${reason}`,
      remedies.get(code) ?? 'see docs/operations.md',
    ),
  );
  if (poller.listFault === null || readiness.accounts.some(({ code }) => code === 'contact_list_unreadable'))
    return found;
  const { since, reason } = poller.listFault;
  return [
    ...found,
    problem(
      'contact list',
      `cannot be read since ${ago(since)}: ${reason}`,
      'check UPSTREAM_BASE_URL, which includes the path such as /v1, and the upstream API key',
    ),
  ];
}

function sendFindings({ sends }: Status): Finding[] {
  const unknown = sends.counts.unknown ?? 0;
  const found: Finding[] = [];
  if (unknown > 0)
    found.push(
      warning(
        'sends',
        `${unknown} with the status unknown: the messaging service may have accepted them`,
        'look at them with `tidings sends list --status unknown`, then decide with `tidings sends resolve`',
      ),
    );
  if (sends.oldestQueuedMs > OLD_SEND_MS)
    found.push(
      warning(
        'sends',
        `the oldest waiting send has waited for ${duration(sends.oldestQueuedMs)}`,
        'see the problems above, or raise UPSTREAM_REQUESTS_PER_SECOND if the budget is used up',
      ),
    );
  return found.length === 0 ? [fine('sends', 'none is unknown, and none has waited for long')] : found;
}

function webhookFindings({ deliveries }: Status): Finding[] {
  const { endpoints, failing } = deliveries;
  const found = failing.map(({ webhookId, since }) =>
    warning(
      `webhook ${webhookId}`,
      `failing since ${ago(since)}`,
      `see its replies with \`tidings deliveries list --webhook ${webhookId}\`, repair the receiver, then deliver the failed events again with \`tidings replay ${webhookId} --since 1d\``,
    ),
  );
  if (endpoints.disabled > 0)
    found.push(
      warning(
        'webhooks',
        `${endpoints.disabled} of ${endpoints.count} are disabled`,
        'see `tidings webhooks list`; enable one with `tidings webhooks enable`',
      ),
    );
  return found.length === 0 ? [fine('webhooks', `${endpoints.count}, none fails`)] : found;
}
