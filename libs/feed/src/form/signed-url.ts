/**
 * This file removes the signature from signed URLs, because upstream may return the same URL with a different
 * signature at each read. The signature says who may open the URL and until when, but not where the URL
 * leads. Names of query parameters are compared in lower case.
 */

/** Names of query parameters that belong to the signature of a URL, in lower case. */
const SIGNATURES: ReadonlySet<string> = new Set([
  'signature',
  'sig',
  'sign',
  'hmac',
  'token',
  'access_token',
  'auth_token',
  'authtoken',
  'auth_key',
  'security-token',
  'googleaccessid',
  'awsaccesskeyid',
  'ossaccesskeyid',
  'key-pair-id',
  'expires',
  'expires_at',
  'expiry',
  // Query parameters that Akamai and compatible CDNs use in signed URLs.
  'hdnts',
  'hdnea',
  'hdntl',
  '__gda__',
  '__token__',
]);

/**
 * Matches names of query parameters that belong to a signature of Amazon, Google, Alibaba or Tencent.
 * `x-oss-process` does not match, because it selects how an image is processed.
 */
const SIGNATURE = /^(?:x-(?:amz|goog)-|x-oss-(?:signature|credential|date|expires|security)|q-sign)/;

/**
 * Matches further query parameters that are removed from a signed URL. A URL is signed if the name of one of its
 * query parameters is listed in {@link SIGNATURES} or matches {@link SIGNATURE}. Some parameters, such as `t`, match
 * only if the value has at least eight characters, because a shorter value is probably not part of the signature:
 * `t=90` may be a position in a video.
 */
const BESIDE_SIGNATURES =
  /^(?:(?:policy|st|se|sp|sv|sr|si|sip|spr|srt|ss|sdd|ske|skt|sks|skv|skoid|sktid|token_path|q-.*)(?:=|$)|(?:exp|expiration|e|t|ts|timestamp|hash|md5|nonce)=.{8})/i;

/**
 * Groups of query parameters that form a signature only if the URL has all parameters in `all`. The parameters
 * whose names match `beside` then belong to the signature too.
 */
const SIGNED_TOGETHER: readonly { all: readonly string[]; beside: RegExp }[] = [
  { all: ['oh', 'oe'], beside: /^(?:_nc_.*|ccb)$/ },
  { all: ['ex', 'is', 'hm'], beside: /^$/ },
];

/**
 * Maximum length of a URL from which a signature is removed, in characters. A longer URL is left unchanged.
 */
const MAX_LENGTH = 16_384;
const ADDRESS = /^https?:\/\/[^\s/?#]+[^\s?#]*\?[^\s]*$/i;

/**
 * Removes the signature from a URL. Returns the text unchanged unless the whole text is an absolute `http` or
 * `https` URL with a signature in its query. This function is called for many strings of every message, so it
 * rejects most strings by their first character.
 */
export function removeUrlSignature(text: string): string {
  const first = text.charCodeAt(0);
  if (first !== 0x68 && first !== 0x48) return text;
  const queryAt = text.indexOf('?');
  if (queryAt < 0 || text.length > MAX_LENGTH || !ADDRESS.test(text)) return text;
  const hashAt = text.indexOf('#', queryAt);
  const end = hashAt < 0 ? text.length : hashAt;
  const parameters = text.slice(queryAt + 1, end).split('&');
  const isOfSignature = signatureIn(parameters.map(nameOf));
  if (isOfSignature === undefined) return text;
  const rest = parameters.filter((parameter) => !isOfSignature(nameOf(parameter), parameter));
  const query = rest.length === 0 ? '' : `?${rest.join('&')}`;
  return text.slice(0, queryAt) + query + text.slice(end);
}

/**
 * Returns a function that checks whether a query parameter belongs to the signature of a URL; undefined if
 * the URL has no signature.
 * @param names names of all query parameters of the URL, in lower case
 */
function signatureIn(names: readonly string[]): ((name: string, parameter: string) => boolean) | undefined {
  if (names.some(isSignature)) {
    return (name, parameter) => isSignature(name) || BESIDE_SIGNATURES.test(parameter);
  }
  const together = SIGNED_TOGETHER.find(({ all }) => all.every((name) => names.includes(name)));
  return together && ((name) => together.all.includes(name) || together.beside.test(name));
}

function isSignature(name: string): boolean {
  return SIGNATURES.has(name) || SIGNATURE.test(name);
}

/**
 * Returns the name of a query parameter in lower case. The name is not percent-decoded, because the names of
 * signature parameters are never percent-encoded.
 */
function nameOf(parameter: string): string {
  const end = parameter.indexOf('=');
  return (end < 0 ? parameter : parameter.slice(0, end)).toLowerCase();
}
