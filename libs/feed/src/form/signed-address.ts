/**
 * Addresses that are signed anew at each read: what changes in them says until when, and for whom, they open; not what
 * they lead to. Names are compared in lower case.
 */

/** Parameters that make an address a signed one. */
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
  // Akamai and those who follow it.
  'hdnts',
  'hdnea',
  'hdntl',
  '__gda__',
  '__token__',
]);

/** The same, by how they begin: Amazon, Google, Alibaba, Tencent. `x-oss-process` is no signature: it is the image. */
const SIGNATURE = /^(?:x-(?:amz|goog)-|x-oss-(?:signature|credential|date|expires|security)|q-sign)/;

/**
 * What stands beside a signature and changes with it, but means something else where there is none: `policy`, Azure's
 * two and more letters, Tencent's `q-…`; and some that do only if their value looks like a time or a digest, for `t=90`
 * is a place in a film.
 */
const BESIDE_SIGNATURES =
  /^(?:(?:policy|st|se|sp|sv|sr|si|sip|spr|srt|ss|sdd|ske|skt|sks|skv|skoid|sktid|token_path|q-.*)(?:=|$)|(?:exp|expiration|e|t|ts|timestamp|hash|md5|nonce)=.{8})/i;

/** Parameters that sign an address only together, and what goes with them. */
const SIGNED_TOGETHER: readonly { all: readonly string[]; beside: RegExp }[] = [
  { all: ['oh', 'oe'], beside: /^(?:_nc_.*|ccb)$/ },
  { all: ['ex', 'is', 'hm'], beside: /^$/ },
];

/** A longer text is no address that anybody would sign. In characters. */
const MAX_LENGTH = 16_384;
const ADDRESS = /^https?:\/\/[^\s/?#]+[^\s?#]*\?[^\s]*$/i;

/**
 * The text without its signature, if the whole of it is an absolute `http` or `https` address with one in its query;
 * else the very same text. Called for many strings of every message of every poll: most are done after a character.
 */
export function withoutSignature(text: string): string {
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

/** Which parameters belong to the signature of an address with these names; undefined if it has none. */
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

/** In lower case. Not decoded: no name of a signature has a character that needs to be escaped. */
function nameOf(parameter: string): string {
  const end = parameter.indexOf('=');
  return (end < 0 ? parameter : parameter.slice(0, end)).toLowerCase();
}
