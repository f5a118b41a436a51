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
  [502, 'start the gateway'],
  [429, 'start the gateway'],
  [404, 'a free port'],
  [200, 'a free port'],
])(
  'An answer with status %d that does not come from a gateway is reported with this status and a remedy: %s.',
  async (status, remedy) => {
    const found = await check((_, response) => response.writeHead(status).end('<h1>Sorry</h1>'));
    expect(found).toMatchObject([
      {
        text: `the server at ${url} is not a Tidings gateway: it answered with status ${status}`,
        remedy: expect.stringContaining(remedy),
      },
    ]);
  },
);

it('A redirect is reported with the origin of its target.', async () => {
  const found = await check((_, response) =>
    response.writeHead(301, { location: 'https://tidings.internal/health/ready' }).end(),
  );
  expect(found).toMatchObject([{ text: `${url} redirects to https://tidings.internal` }]);
});

it('A gateway that does not answer is reported with the reason.', async () => {
  const found = await check((request) => request.socket.destroy());
  expect(found).toMatchObject([{ text: `no gateway answers at ${url}: other side closed` }]);
});
