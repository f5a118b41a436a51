import { ForbiddenDestinationError } from '../endpoint/endpoint.js';

const MAX_URL_LENGTH = 2_048;
const MAX_HOST_LENGTH = 253;

/**
 * Parses the URL of a webhook. Checks the URL itself (length, scheme, credentials, fragment, port and host name), but not
 * whether the IP address of its host is allowed.
 * @throws {ForbiddenDestinationError} if the URL is invalid for a webhook
 */
export function parseWebhookUrl(text: string): URL {
  assertLength(text);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new ForbiddenDestinationError('the text is not an absolute URL, such as https://example.com/hook');
  }
  // The percent-encoded form is stored and requested. It may be longer than the given text, because each non-ASCII
  // character is encoded.
  assertLength(url.href);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new ForbiddenDestinationError(
      'the URL must start with https://, or with http:// for an allowed network',
    );
  }
  if (url.username !== '' || url.password !== '')
    throw new ForbiddenDestinationError('the URL contains credentials; remove them');
  if (url.hash !== '' || text.includes('#'))
    throw new ForbiddenDestinationError('the URL has a fragment; remove it');
  if (url.port === '0') throw new ForbiddenDestinationError('port 0 cannot be reached');
  const name = normalizedHostOf(url);
  if (name === '' || name.endsWith('.') || name.length > MAX_HOST_LENGTH) {
    throw new ForbiddenDestinationError('the host of the URL is neither a valid name nor an IP address');
  }
  return url;
}

/** Returns the URL's host without brackets and without a trailing dot. */
export function normalizedHostOf(url: Pick<URL, 'hostname'>): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

/** Returns true if the name always means this machine (RFC 6761). */
export function isLocalhost(name: string): boolean {
  return /(^|\.)localhost(\.localdomain)?$/i.test(name);
}

function assertLength(url: string): void {
  if (url.length > MAX_URL_LENGTH)
    throw new ForbiddenDestinationError(`the URL is longer than ${MAX_URL_LENGTH} characters`);
}
