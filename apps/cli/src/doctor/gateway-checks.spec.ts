import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import type { Finding } from './finding.js';
import { checkGateway } from './gateway-checks.js';

let server: Server;
let url: string;

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

async function check(answer: RequestListener): Promise<Finding[]> {
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return await checkGateway({ url, apiKey: undefined });
}

it.each([
  [502, 'start it'],
  [429, 'start it'],
  [404, 'a free PORT'],
  [200, 'a free PORT'],
])('An answer with status %d that is no readiness is reported with its status.', async (status, remedy) => {
  const found = await check((_, response) => response.writeHead(status).end('<h1>Sorry</h1>'));
  expect(found).toMatchObject([
    {
      text: `what answers at ${url} is not a Tidings gateway: it answers ${status}`,
      remedy: expect.stringContaining(remedy),
    },
  ]);
});

it('A redirect is reported with the address that it leads to.', async () => {
  const found = await check((_, response) =>
    response.writeHead(301, { location: 'https://tidings.internal/health/ready' }).end(),
  );
  expect(found).toMatchObject([{ text: `${url} redirects to https://tidings.internal` }]);
});

it('A gateway that does not answer is reported with the reason.', async () => {
  const found = await check((request) => request.socket.destroy());
  expect(found).toMatchObject([{ text: `no gateway answers at ${url}: other side closed` }]);
});
