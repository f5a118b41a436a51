// A small company backend: serves the page, and creates short-lived tokens for it. The API key stays here.
// Settings: TIDINGS_URL (browsers must reach it too), TIDINGS_API_KEY, PORT, TOKEN_SECONDS.
// CORS_ORIGINS of the gateway must contain the address of this page.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const { TIDINGS_URL, TIDINGS_API_KEY = '', PORT = '8080', TOKEN_SECONDS = '900' } = process.env;
const api = new URL(TIDINGS_URL ?? 'http://127.0.0.1:3000').origin;
const [page, script] = ['index.html', 'app.js'].map((name) => readFileSync(new URL(name, import.meta.url)));
const style = createHash('sha256').update(String(page).split(/<\/?style>/)[1]);
// Whatever a message contains: the page runs only this script, and talks only to this server and the gateway.
const policy =
  `default-src 'none'; script-src 'self'; style-src 'sha256-${style.digest('base64')}'; ` +
  `connect-src 'self' ${api}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

async function answer(request) {
  if (request === 'GET /') return [200, 'text/html', page];
  if (request === 'GET /app.js') return [200, 'text/javascript', script];
  if (request !== 'POST /session') return [404, 'text/plain', 'Not found'];
  // Check here that the user is signed in. `contactIds` would restrict the token to the user's contacts.
  const scopes = ['messages:send', 'messages:read', 'events:read'];
  const body = JSON.stringify({ scopes, expiresInSeconds: Number(TOKEN_SECONDS) });
  const headers = { 'X-API-Key': TIDINGS_API_KEY, 'Content-Type': 'application/json' };
  const reply = await fetch(`${api}/v1/tokens`, { method: 'POST', headers, body });
  if (!reply.ok) throw new Error(await reply.text());
  const { token } = await reply.json();
  return [200, 'application/json', JSON.stringify({ api, token, seconds: Number(TOKEN_SECONDS) })];
}

createServer(async ({ method, url }, response) => {
  const failed = (error) => [502, 'text/plain', error.message];
  const [status, type, body] = await answer(`${method} ${url}`).catch(failed);
  const headers = { 'Content-Type': type, 'Content-Security-Policy': policy, 'Cache-Control': 'no-store' };
  response.writeHead(status, headers).end(body);
}).listen(Number(PORT), '127.0.0.1', () => console.log(`Listening on http://127.0.0.1:${PORT}`));
