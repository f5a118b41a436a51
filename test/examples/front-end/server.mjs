// A small company backend: serves the page, and creates short-lived tokens for it. The API key stays in this process.
// Settings: TIDINGS_URL (browsers must reach it too), TIDINGS_API_KEY, PORT, TOKEN_SECONDS.
// CORS_ORIGINS of the gateway must contain the address of this page.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const { TIDINGS_URL, TIDINGS_API_KEY = '', PORT = '8080', TOKEN_SECONDS = '900' } = process.env;
const api = new URL(TIDINGS_URL ?? 'http://127.0.0.1:3000').origin;
const page = readFileSync(new URL('index.html', import.meta.url), 'utf8');
const script = readFileSync(new URL('app.js', import.meta.url), 'utf8');
const [, css] = page.split(/<\/?style>/);
const style = createHash('sha256').update(css).digest('base64');
// Whatever a message contains: the page runs only this script, and connects only to this server and the gateway.
const policy = `default-src 'none'; script-src 'self'; style-src 'sha256-${style}'; connect-src 'self' ${api}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

async function createToken() {
  const scopes = ['messages:send', 'messages:read', 'events:read'];
  const reply = await fetch(`${api}/v1/tokens`, {
    method: 'POST',
    headers: { 'X-API-Key': TIDINGS_API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({ scopes, expiresInSeconds: Number(TOKEN_SECONDS) }),
    signal: AbortSignal.timeout(5_000),
  });
  if (!reply.ok) throw new Error(`POST /v1/tokens returned ${reply.status}: ${await reply.text()}`);
  return await reply.json();
}

async function answer(request) {
  if (request === 'GET /') return [200, 'text/html', page];
  if (request === 'GET /app.js') return [200, 'text/javascript', script];
  if (request !== 'POST /session') return [404, 'text/plain', 'Not found'];
  // Check here that the user is signed in. `contactIds` would restrict the token to the user's contacts.
  const { token, expiresAt } = await createToken();
  return [200, 'application/json', JSON.stringify({ token, expiresAt, api })];
}

createServer(async ({ method, url }, response) => {
  const [status, type, body] = await answer(`${method} ${url}`).catch((error) => {
    console.error(error);
    return [502, 'text/plain', 'The gateway is not available.'];
  });
  const headers = { 'Content-Type': type, 'Content-Security-Policy': policy, 'Cache-Control': 'no-store' };
  response.writeHead(status, headers).end(body);
}).listen(Number(PORT), '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${PORT}`));
