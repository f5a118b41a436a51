import type { Event, Webhook } from '#client';

/**
 * Returns the names of the variables that a command of {@link curlOf} reads. The command itself contains no
 * credentials.
 */
export function variablesOf({ headers }: Pick<Webhook, 'headers'>): string[] {
  return ['WEBHOOK_SECRET', ...Object.keys(headers).map(variableOf)];
}

/**
 * Returns a shell command that sends an event to a webhook as Tidings does, signed at the time when it runs. The signing
 * secret and the values of the webhook's own headers are read from variables, so that no credential is copied.
 */
export function curlOf(event: Event, { url, headers }: Pick<Webhook, 'url' | 'headers'>): string {
  return [
    '(',
    '  : "${WEBHOOK_SECRET:?Set WEBHOOK_SECRET to the signing secret of the webhook, whsec_...}"',
    ...Object.keys(headers).map(
      (name) =>
        `  : "\${${variableOf(name)}:?Set ${variableOf(name)} to the value of the header ${plain(name)}}"`,
    ),
    `  id=${quoted(event.id)}`,
    `  body=${quoted(JSON.stringify(event))}`,
    '  timestamp=$(date +%s)',
    '  key=$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d " \\n")',
    '  signature=$(printf %s "$id.$timestamp.$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)',
    '  printf %s "$body" | curl --include --request POST \\',
    '    --header "content-type: application/json" \\',
    '    --header "webhook-id: $id" \\',
    '    --header "webhook-timestamp: $timestamp" \\',
    '    --header "webhook-signature: v1,$signature" \\',
    ...Object.keys(headers).map((name) => `    --header ${quoted(`${name}: `)}"$${variableOf(name)}" \\`),
    `    --data-binary @- ${quoted(url)}`,
    ')',
  ].join('\n');
}

/** Returns the name of the variable for a header: `HEADER_X_TEAM` for `X-Team`. */
function variableOf(header: string): string {
  return `HEADER_${header.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
}

/** Replaces the characters of a header name that have a meaning for a shell, even between double quotes. */
function plain(name: string): string {
  return name.replace(/[^A-Za-z0-9-]/g, '_');
}

/** Quotes a text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
