/**
 * Signed URLs. Upstream may return the same URL with another signature at each read. The signature says who may open the URL and until when,
 * not where the URL leads. Parameter names are compared in lower case.
 */

/** Query parameters that belong to a signature. */
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
  // Akamai and compatible CDNs.
  'hdnts',
  'hdnea',
  'hdntl',
  '__gda__',
  '__token__',
]);

/** Name prefixes of such parameters: Amazon, Google, Alibaba, Tencent. `x-oss-process` selects the image: no signature. */
const SIGNATURE = /^(?:x-(?:amz|goog)-|x-oss-(?:signature|credential|date|expires|security)|q-sign)/;

/**
 * Parameters that belong to a signature only if the URL also has a parameter of {@link SIGNATURES}: `policy`, the short
 * names of Azure, `q-…` of Tencent. Some count only with a long value, such as a time or a digest: `t=90` may be a position
 * in a video.
 */
const BESIDE_SIGNATURES =
  /^(?:(?:policy|st|se|sp|sv|sr|si|sip|spr|srt|ss|sdd|ske|skt|sks|skv|skoid|sktid|token_path|q-.*)(?:=|$)|(?:exp|expiration|e|t|ts|timestamp|hash|md5|nonce)=.{8})/i;

/** Parameters that form a signature only together, and parameters that accompany them. */
const SIGNED_TOGETHER: readonly { all: readonly string[]; beside: RegExp }[] = [
  { all: ['oh', 'oe'], beside: /^(?:_nc_.*|ccb)$/ },
  { all: ['ex', 'is', 'hm'], beside: /^$/ },
];

/** Maximum length of a signed URL, in characters. */
const MAX_LENGTH = 16_384;
const ADDRESS = /^https?:\/\/[^\s/?#]+[^\s?#]*\?[^\s]*$/i;

/**
 * Returns the text without its signature if the whole text is an absolute `http` or `https` URL with a signature in its
 * query, else the same text. Called for many strings of every message, so most strings are rejected by their first character.
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

/** Returns a test for the parameters of the signature, given all parameter names; undefined without a signature. */
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

/** Returns the name of a parameter in lower case, not decoded: names of signature parameters are never escaped. */
function nameOf(parameter: string): string {
  const end = parameter.indexOf('=');
  return (end < 0 ? parameter : parameter.slice(0, end)).toLowerCase();
}
