import type { FullReadiness, Readiness, Status, WebhookList } from '#client';
import { to, withParameters } from '../kit/address.js';

/** Something that does not work, with a link to the page that helps. */
export interface Finding {
  text: string;
  /** When it began. */
  since?: string | undefined;
  /** Page that helps, with the text of the link. */
  link?: { href: string; text: string };
  /** True if the helping action is to confirm that contacts or messages were deleted. */
  isSuspect?: boolean;
}

/** The data of the overview. Data that the API key may not read are absent. */
export interface Known {
  readiness: Readiness | FullReadiness | undefined;
  status: Status | undefined;
  webhooks: WebhookList | undefined;
}

/** Codes of readiness reasons that the findings about the account itself explain better. */
const EXPLAINED: ReadonlySet<string> = new Set(['upstream_down', 'upstream_refused', 'contacts_vanished']);
/** Maximum number of other accounts that a finding names. */
const MAX_NAMES = 5;

/** Returns what does not work, the most severe first. An empty list means that everything known works. */
export function findingsOf({ readiness, status, webhooks }: Known): Finding[] {
  return [
    ...installation(readiness, status),
    ...(status === undefined ? [] : [...messagingService(status), ...contacts(status), ...sends(status)]),
    ...(webhooks === undefined ? [] : failingWebhooks(webhooks)),
  ];
}

function installation(readiness: Known['readiness'], status: Status | undefined): Finding[] {
  if (readiness === undefined) return [];
  return readiness.reasons.flatMap((text, i) => {
    const detail = readiness.details[i];
    if (status === undefined || detail === undefined) return [{ text }];
    const { code, count } = detail;
    const affected = status.readiness.accounts.filter((each) => each.code === code);
    const others = affected.filter(({ account }) => account !== status.account);
    // `accounts` ends after 100 entries, `count` counts all.
    const otherCount = count - (affected.length - others.length);
    // A reason may also affect other accounts, which an operator may see. The findings about the
    // caller's own account do not cover the other accounts.
    if (EXPLAINED.has(code) && otherCount <= 0) return [];
    return [{ text: others.length === 0 ? text : `${text}. ${otherAccounts(others, otherCount)}` }];
  });
}

/** Names other accounts that a reason affects: the reason itself only counts accounts. */
function otherAccounts(others: FullReadiness['accounts'], count: number): string {
  const names = others.slice(0, MAX_NAMES).map(({ account }) => account);
  const more = count - names.length;
  return `Other accounts affected: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

function messagingService({ upstream }: Status): Finding[] {
  if (upstream.state === 'up') return [];
  return [
    {
      text: `The messaging service is not available: ${upstream.reason ?? 'no reason is known'}. Sends wait until it is available again.`,
      since: upstream.since ?? undefined,
      link: { href: withParameters(to('sends'), { status: 'queued' }), text: 'Show the waiting sends' },
    },
  ];
}

function contacts({ poller }: Status): Finding[] {
  const suspect: Finding[] =
    poller.state === 'suspect'
      ? [
          {
            text: 'The messaging service shows far fewer contacts or messages than before. No deletions are reported until the contacts and messages return, or until you confirm that they were deleted.',
            since: poller.suspectSince ?? undefined,
            isSuspect: true,
          },
        ]
      : [];
  const list: Finding[] =
    poller.listFault === null
      ? []
      : [
          {
            text: `The contact list cannot be read: ${poller.listFault.reason}.`,
            since: poller.listFault.since,
          },
        ];
  const { unreadableContacts: count } = poller;
  const unreadable: Finding[] =
    count === 0
      ? []
      : [
          {
            text: `${count === 1 ? 'One element' : `${count} elements`} of the contact list cannot be read. New contacts among them are not polled.`,
          },
        ];
  return [...suspect, ...list, ...unreadable];
}

function sends({ sends: { counts } }: Status): Finding[] {
  const unknown = counts.unknown ?? 0;
  if (unknown === 0) return [];
  const subject = unknown === 1 ? 'One send may or may not have' : `${unknown} sends may or may not have`;
  return [
    {
      text: `${subject} reached the messaging service. Nothing is sent again unless you decide so.`,
      link: { href: withParameters(to('sends'), { status: 'unknown' }), text: 'Decide' },
    },
  ];
}

function failingWebhooks({ webhooks }: WebhookList): Finding[] {
  return webhooks
    .filter(({ enabled, failingSince, disabledReason }) =>
      enabled ? failingSince !== null : disabledReason !== null,
    )
    .map(({ id, description, url, failingSince, enabled, disabledReason }) => ({
      text: enabled
        ? `Deliveries to the webhook ${description ?? url} are failing.`
        : `The webhook ${description ?? url} was disabled: ${disabledReason ?? ''}`,
      since: enabled ? (failingSince ?? undefined) : undefined,
      link: { href: to('webhooks', id), text: 'Show the webhook' },
    }));
}
